// Policies of the Gateway API that attach to other objects (GEP-713): the fields that we read.
import type { Condition, KubeObject } from './core.ts';
import type { ParentReference } from './gateway.ts';

export interface PolicyTargetReference {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  /** Of a Service: the name of a port. */
  readonly sectionName?: string;
}

export interface SubjectAltName {
  readonly type: string;
  readonly hostname?: string;
  readonly uri?: string;
}

export interface PolicyAncestorStatus {
  readonly ancestorRef: ParentReference;
  readonly controllerName: string;
  readonly conditions: readonly Condition[];
}

export interface BackendTLSPolicy extends KubeObject {
  readonly kind: 'BackendTLSPolicy';
  readonly spec: {
    readonly targetRefs: readonly PolicyTargetReference[];
    readonly validation: {
      readonly hostname: string;
      readonly caCertificateRefs?: readonly { readonly group: string; readonly kind: string; readonly name: string }[];
      readonly wellKnownCACertificates?: string;
      readonly subjectAltNames?: readonly SubjectAltName[];
    };
  };
  readonly status?: { readonly ancestors?: readonly PolicyAncestorStatus[] };
}
