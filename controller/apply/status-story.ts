// A status in one line for a person at a terminal. Pure.
import { ConditionType } from '#controller/api/condition.ts';
import type { Condition } from '#controller/api/core.ts';
import type { ListenerStatus, ParentReference } from '#controller/api/gateway.ts';
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
  const conditions = allConditions(desired);
  const listeners = desired.form === 'gateway' || desired.form === 'listeners' ? desired.listeners : [];
  return [...conditions, ...listeners.flatMap((listener) => listener.conditions)].every(isGood);
}

function allConditions(desired: DesiredStatus): readonly Condition[] {
  if (desired.form === 'parents') return desired.parents.flatMap((parent) => parent.conditions);
  if (desired.form === 'ancestors') return desired.ancestors.flatMap((ancestor) => ancestor.conditions);
  return desired.conditions;
}

function parts(desired: DesiredStatus, namespace: string): readonly string[] {
  switch (desired.form) {
    case 'parents':
      if (desired.parents.length === 0) return ['no Gateway of this controller is its parent'];
      return desired.parents.map(
        (parent) => (desired.parents.length === 1 ? '' : `${refName(parent.parentRef, namespace)}: `) + told(parent.conditions),
      );
    case 'ancestors':
      if (desired.ancestors.length === 0) return ['no Gateway of this controller sends to what it targets'];
      return desired.ancestors.map(
        (ancestor) => (desired.ancestors.length === 1 ? '' : `${refName(ancestor.ancestorRef, namespace)}: `) + told(ancestor.conditions),
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

function refName(ref: ParentReference, namespace: string): string {
  const section = ref.sectionName === undefined ? '' : `/${ref.sectionName}`;
  const port = ref.port === undefined ? '' : `:${ref.port}`;
  return `${ref.kind ?? 'Gateway'} ${keyOf(ref.namespace ?? namespace, ref.name)}${section}${port}`;
}
