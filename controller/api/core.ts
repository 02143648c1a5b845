// Kubernetes core objects: the fields that we read.

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly generation?: number;
  readonly resourceVersion?: string;
  /** RFC 3339. */
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
}

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

/** metav1.Condition. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
  /** RFC 3339. */
  readonly lastTransitionTime?: string;
}

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

export interface Namespace extends KubeObject {
  readonly kind: 'Namespace';
}

export interface ServicePort {
  readonly name?: string;
  readonly port: number;
  readonly protocol?: string;
  readonly targetPort?: number | string;
  readonly appProtocol?: string;
}

export interface Service extends KubeObject {
  readonly kind: 'Service';
  readonly spec?: {
    readonly type?: string;
    readonly clusterIP?: string;
    readonly externalName?: string;
    readonly ports?: readonly ServicePort[];
    readonly selector?: Readonly<Record<string, string>>;
    readonly loadBalancerIP?: string;
  };
  readonly status?: {
    readonly loadBalancer?: { readonly ingress?: readonly { readonly ip?: string; readonly hostname?: string }[] };
  };
}

export interface EndpointSlice extends KubeObject {
  readonly kind: 'EndpointSlice';
  readonly addressType?: string;
  readonly endpoints?: readonly {
    readonly addresses: readonly string[];
    readonly conditions?: { readonly ready?: boolean; readonly serving?: boolean; readonly terminating?: boolean };
    readonly targetRef?: { readonly kind?: string; readonly namespace?: string; readonly name?: string };
  }[];
  readonly ports?: readonly { readonly name?: string; readonly port?: number; readonly protocol?: string; readonly appProtocol?: string }[];
}

/** The label that ties an EndpointSlice to its Service. */
export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';

export interface Secret extends KubeObject {
  readonly kind: 'Secret';
  readonly type?: string;
  /** Base64 values. */
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
}

export interface ConfigMap extends KubeObject {
  readonly kind: 'ConfigMap';
  readonly data?: Readonly<Record<string, string>>;
}

/** Of CustomResourceDefinitions we read the annotations of one, to know which Gateway API bundle is installed. */
export interface CustomResourceDefinition extends KubeObject {
  readonly kind: 'CustomResourceDefinition';
}
