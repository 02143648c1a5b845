// The CustomResourceDefinitions of our own kinds, made from their zod schemas and rows in own.ts.
import { z } from 'zod';
import { OWN_GROUP, OWN_VERSION, ownKinds } from './own.ts';
import type { StructuralSchema } from './structural.ts';

type OwnKind = (typeof ownKinds)[number];

/** A whole CustomResourceDefinition, as plain data. */
export function renderCrd(own: OwnKind): object {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${own.plural}.${OWN_GROUP}` },
    spec: {
      group: OWN_GROUP,
      scope: own.scope,
      names: {
        kind: own.kind,
        listKind: `${own.kind}List`,
        plural: own.plural,
        singular: own.singular,
        shortNames: [own.shortName],
        // `kubectl get gateway-api` lists the standard kinds; ours belong to the same picture.
        categories: ['gateway-api'],
      },
      versions: [
        {
          name: OWN_VERSION,
          served: true,
          storage: true,
          additionalPrinterColumns: own.columns,
          ...(own.status ? { subresources: { status: {} } } : {}),
          schema: { openAPIV3Schema: ownSchema(own) },
        },
      ],
    },
  };
}

/** The schema of a whole object of one of our kinds. */
export function ownSchema(own: OwnKind): StructuralSchema {
  return {
    description: own.description,
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string', description: 'Version of the schema of this object.' },
      kind: { type: 'string', description: 'Kind of this object.' },
      metadata: { type: 'object' },
      spec: { description: 'What is wanted.', ...structuralSchema(own.spec) },
      ...(own.status ? { status: STATUS } : {}),
    },
  };
}

/**
 * zod → structural schema. The API server refuses bounds and types below `anyOf` of an int-or-string, and zod states the format of an
 * integer as the bounds of that format: both are put into the form of Kubernetes.
 */
function structuralSchema(schema: z.ZodType): StructuralSchema {
  return z.toJSONSchema(schema, {
    target: 'openapi-3.0',
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      if (jsonSchema['x-kubernetes-int-or-string']) jsonSchema.anyOf = [{ type: 'integer' }, { type: 'string' }];
      if (zodSchema._zod.def.type === 'number') kubernetesInteger(zodSchema, jsonSchema);
      // A regular expression's source escapes slashes, which a pattern need not.
      if (jsonSchema.pattern !== undefined) jsonSchema.pattern = jsonSchema.pattern.replaceAll('\\/', '/');
    },
  }) as StructuralSchema;
}

function kubernetesInteger(zodSchema: z.core.$ZodTypes, jsonSchema: z.core.JSONSchema.BaseSchema): void {
  const int32 = 'format' in zodSchema._zod.def && zodSchema._zod.def.format === 'int32';
  jsonSchema.format = int32 ? 'int32' : 'int64';
  const [lowest, highest] = int32 ? [-(2 ** 31), 2 ** 31 - 1] : [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
  if (jsonSchema.minimum === lowest) delete jsonSchema.minimum;
  if (jsonSchema.maximum === highest) delete jsonSchema.maximum;
}

/** metav1.Condition, with the limits that Kubernetes gives it. */
const CONDITION: StructuralSchema = {
  type: 'object',
  required: ['lastTransitionTime', 'message', 'reason', 'status', 'type'],
  properties: {
    lastTransitionTime: { type: 'string', format: 'date-time', description: 'When the status last changed.' },
    message: { type: 'string', maxLength: 32768, description: 'What is the case and what to do, for people.' },
    observedGeneration: { type: 'integer', format: 'int64', minimum: 0, description: 'The metadata.generation that was looked at.' },
    reason: {
      type: 'string',
      minLength: 1,
      maxLength: 1024,
      pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
      description: 'Why, in one word, for programs.',
    },
    status: { type: 'string', enum: ['True', 'False', 'Unknown'], description: 'Whether the condition holds.' },
    type: {
      type: 'string',
      maxLength: 316,
      pattern: '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$',
      description: 'Which condition this is.',
    },
  },
};

const STATUS: StructuralSchema = {
  type: 'object',
  description: 'What the controller found; written by the controller.',
  properties: {
    conditions: {
      type: 'array',
      maxItems: 32,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
      items: CONDITION,
      description: 'The state of this object.',
    },
  },
};
