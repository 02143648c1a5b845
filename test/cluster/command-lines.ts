// How the three servers of the test cluster are started: every argument and why it is there. Pure.

/** Paths and addresses of one cluster. Sockets and files lie in its own folder of mode 0700. */
export interface Layout {
  readonly folder: string;
  readonly etcdSocket: string;
  /** Loopback; pods reach it by the ClusterIP of its Service, which the node forwards. */
  readonly address: string;
  readonly port: number;
  readonly certificates: string;
  readonly tokenFile: string;
  readonly serviceAccountKey: string;
  readonly serviceAccountPublicKey: string;
  readonly controllerManagerKubeconfig: string;
  readonly caFile: string;
}

const SERVICE_RANGE = '10.96.0.0/16';

// What a cluster without nodes needs: controllers that look after nodes would only wait for heartbeats.
const controllers = [
  'deployment-controller',
  'replicaset-controller',
  'statefulset-controller',
  'daemonset-controller',
  'job-controller',
  'endpoints-controller',
  'endpointslice-controller',
  'endpointslice-mirroring-controller',
  'namespace-controller',
  'serviceaccount-controller',
  'root-ca-certificate-publisher-controller',
  'garbage-collector-controller',
];

// Unix sockets: no port to collide with another cluster, and a database without passwords that no other user can reach.
export function etcdArguments({ folder, etcdSocket }: Layout): readonly string[] {
  const peers = `unix://${folder}/peer.sock`;
  return [
    '--name=test',
    `--data-dir=${folder}/etcd`,
    `--listen-client-urls=unix://${etcdSocket}`,
    `--advertise-client-urls=unix://${etcdSocket}`,
    `--listen-peer-urls=${peers}`,
    `--initial-advertise-peer-urls=${peers}`,
    `--initial-cluster=test=${peers}`,
    '--unsafe-no-fsync', // the data lives as long as the cluster
    '--log-level=warn',
  ];
}

export function apiServerArguments(layout: Layout): readonly string[] {
  return [
    `--etcd-servers=unix://${layout.etcdSocket}`,
    `--bind-address=${layout.address}`,
    `--advertise-address=${layout.address}`,
    // The Service "kubernetes" gets no endpoints: an EndpointSlice must not hold a loopback address.
    '--endpoint-reconciler-type=none',
    `--secure-port=${layout.port}`,
    `--cert-dir=${layout.certificates}`,
    `--token-auth-file=${layout.tokenFile}`,
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${layout.serviceAccountPublicKey}`,
    `--service-account-signing-key-file=${layout.serviceAccountKey}`,
    `--service-cluster-ip-range=${SERVICE_RANGE}`,
    '--allow-privileged',
    '--kubelet-preferred-address-types=InternalIP',
    '--profiling=false',
  ];
}

export function controllerManagerArguments(layout: Layout): readonly string[] {
  return [
    `--kubeconfig=${layout.controllerManagerKubeconfig}`,
    `--service-account-private-key-file=${layout.serviceAccountKey}`,
    `--root-ca-file=${layout.caFile}`,
    `--controllers=${controllers.join(',')}`,
    '--leader-elect=false',
    '--secure-port=0',
    // Tests create and delete whole namespaces at once; the defaults are made for sharing a server.
    '--kube-api-qps=500',
    '--kube-api-burst=1000',
  ];
}
