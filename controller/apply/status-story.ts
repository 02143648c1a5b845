// A status in one line for a person at a terminal. Pure.
import { ConditionType } from '#controller/api/condition.ts';
import type { Condition } from '#controller/api/core.ts';
import type { ListenerStatus, RouteParentStatus } from '#controller/api/gateway.ts';
import type { DesiredStatus, StatusUpdate } from '#controller/api/plan.ts';
import { formatRef, keyOf } from '#controller/api/ref.ts';

/** Conditions that are bad news when they are True, and none when they are False. */
const WARNINGS: ReadonlySet<string> = new Set([
  ConditionType.Conflicted,
  ConditionType.InsecureFrontendValidationMode,
  ConditionType.PartiallyInvalid,
  ConditionType.PermissiveHostname,
  ConditionType.RouteShadowed,
  ConditionType.TunnelShared,
]);

/** `HTTPRoute default/shop: Accepted, ResolvedRefs=False (BackendNotFound: …)`; what is well is only named. */
export const storyOf = ({ ref, desired }: StatusUpdate): string => `${formatRef(ref)}: ${parts(desired, ref.namespace).join('; ')}`;

/** Everything that the object is to have is well. */
export function isWell({ desired }: StatusUpdate): boolean {
  const conditions = desired.form === 'parents' ? desired.parents.flatMap((parent) => parent.conditions) : desired.conditions;
  const listeners = desired.form === 'gateway' || desired.form === 'listeners' ? desired.listeners : [];
  return [...conditions, ...listeners.flatMap((listener) => listener.conditions)].every(isGood);
}

function parts(desired: DesiredStatus, namespace: string): readonly string[] {
  switch (desired.form) {
    case 'parents':
      if (desired.parents.length === 0) return ['no Gateway of this controller is its parent'];
      return desired.parents.map(
        (parent) => (desired.parents.length === 1 ? '' : `${parentName(parent, namespace)}: `) + told(parent.conditions),
      );
    case 'conditions':
    case 'class':
      return [told(desired.conditions)];
    case 'listeners':
      return [told(desired.conditions), ...desired.listeners.map(listener)];
    case 'gateway':
      return [told(desired.conditions), ...desired.addresses.map(({ value }) => `address ${value}`), ...desired.listeners.map(listener)];
  }
}

const isGood = ({ type, status }: Condition): boolean => status === (WARNINGS.has(type) ? 'False' : 'True');

function told(conditions: readonly Condition[]): string {
  const words = conditions.flatMap((condition) => {
    const name = condition.type.slice(condition.type.lastIndexOf('/') + 1);
    if (isGood(condition)) return WARNINGS.has(condition.type) ? [] : [name];
    const value = WARNINGS.has(condition.type) && condition.status === 'True' ? name : `${name}=${condition.status}`;
    return [`${value} (${condition.reason}: ${oneLine(condition.message)})`];
  });
  return words.join(', ');
}

const LONGEST = 400;
const oneLine = (message: string): string => {
  const line = message.replaceAll(/\s+/g, ' ');
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
};

function listener({ name, attachedRoutes, conditions }: ListenerStatus): string {
  const routes = attachedRoutes === 1 ? '1 route' : `${attachedRoutes} routes`;
  const bad = conditions.filter((condition) => !isGood(condition));
  return `listener ${name}: ${routes}${bad.length === 0 ? '' : `, ${told(bad)}`}`;
}

function parentName({ parentRef }: RouteParentStatus, namespace: string): string {
  const section = parentRef.sectionName === undefined ? '' : `/${parentRef.sectionName}`;
  const port = parentRef.port === undefined ? '' : `:${parentRef.port}`;
  return `${parentRef.kind ?? 'Gateway'} ${keyOf(parentRef.namespace ?? namespace, parentRef.name)}${section}${port}`;
}
