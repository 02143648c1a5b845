// Schemas of the core kinds: the fields that we read. Whatever else these objects may have is let through, as another program's business.
import type { StructuralSchema } from '#controller/api/structural.ts';

const open = (properties: Readonly<Record<string, StructuralSchema>>, more: Partial<StructuralSchema> = {}): StructuralSchema => ({
  type: 'object',
  'x-kubernetes-preserve-unknown-fields': true,
  properties,
  ...more,
});

const root = (properties: Readonly<Record<string, StructuralSchema>>, more: Partial<StructuralSchema> = {}): StructuralSchema =>
  open({ apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: open({}), ...properties }, more);

const text: StructuralSchema = { type: 'string' };
const texts: StructuralSchema = { type: 'object', additionalProperties: text };
const port: StructuralSchema = { type: 'integer', format: 'int32', minimum: 1, maximum: 65535 };
const protocol: StructuralSchema = { type: 'string', enum: ['TCP', 'UDP', 'SCTP'], default: 'TCP' };

/** Keys of Secrets and ConfigMaps become file names in pods. */
const DATA_KEYS = {
  rule: "self.all(key, key.matches('^[-._a-zA-Z0-9]+$') && key != '.' && key != '..' && size(key) <= 253)",
  message: 'keys may have letters, digits, dashes, dots and underscores only',
};

export const namespaceSchema: StructuralSchema = root({ spec: open({}) });

export const serviceSchema: StructuralSchema = root({
  spec: open(
    {
      type: { type: 'string', enum: ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'], default: 'ClusterIP' },
      clusterIP: text,
      externalName: text,
      selector: texts,
      ports: {
        type: 'array',
        maxItems: 1000,
        items: open(
          {
            name: { type: 'string', maxLength: 63, pattern: '^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$' },
            port,
            protocol,
            targetPort: { 'x-kubernetes-int-or-string': true },
            appProtocol: text,
          },
          { required: ['port'] },
        ),
        'x-kubernetes-validations': [
          { rule: 'size(self) <= 1 || self.all(p, has(p.name) && size(p.name) > 0)', message: 'with more than one port each needs a name' },
          {
            rule: 'self.all(p, !has(p.name) || self.exists_one(q, has(q.name) && q.name == p.name))',
            message: 'two ports have the same name',
          },
        ],
      },
    },
    {
      'x-kubernetes-validations': [
        {
          rule: "self.type != 'ExternalName' || (has(self.externalName) && size(self.externalName) > 0)",
          message: 'a Service of type ExternalName needs externalName',
        },
        {
          rule: "self.type == 'ExternalName' || (has(self.clusterIP) && self.clusterIP == 'None') || (has(self.ports) && size(self.ports) > 0)",
          message: 'ports: a Service needs at least one, unless it is headless (clusterIP: None)',
        },
      ],
    },
  ),
});

export const endpointSliceSchema: StructuralSchema = root(
  {
    addressType: { type: 'string', enum: ['IPv4', 'IPv6', 'FQDN'] },
    endpoints: {
      type: 'array',
      maxItems: 1000,
      items: open(
        {
          addresses: { type: 'array', minItems: 1, maxItems: 100, items: text },
          conditions: open({ ready: { type: 'boolean' }, serving: { type: 'boolean' }, terminating: { type: 'boolean' } }),
          targetRef: open({ kind: text, namespace: text, name: text }),
        },
        { required: ['addresses'] },
      ),
    },
    ports: {
      type: 'array',
      maxItems: 20_000,
      items: open({ name: { ...text, default: '' }, port, protocol, appProtocol: text }),
    },
  },
  {
    required: ['addressType'],
    'x-kubernetes-validations': [
      {
        rule: "self.addressType != 'IPv4' || !has(self.endpoints) || self.endpoints.all(e, e.addresses.all(a, isIP(a) && !a.contains(':')))",
        message: 'endpoints: with addressType IPv4 every address must be an IPv4 address',
      },
      {
        rule: "self.addressType != 'IPv6' || !has(self.endpoints) || self.endpoints.all(e, e.addresses.all(a, isIP(a) && a.contains(':')))",
        message: 'endpoints: with addressType IPv6 every address must be an IPv6 address',
      },
    ],
  },
);

export const secretSchema: StructuralSchema = root({
  type: { type: 'string', default: 'Opaque' },
  immutable: { type: 'boolean' },
  data: { type: 'object', additionalProperties: { type: 'string', format: 'byte' }, 'x-kubernetes-validations': [DATA_KEYS] },
  stringData: { ...texts, 'x-kubernetes-validations': [DATA_KEYS] },
});

export const configMapSchema: StructuralSchema = root({
  immutable: { type: 'boolean' },
  data: { ...texts, 'x-kubernetes-validations': [DATA_KEYS] },
  binaryData: { type: 'object', additionalProperties: { type: 'string', format: 'byte' }, 'x-kubernetes-validations': [DATA_KEYS] },
});
