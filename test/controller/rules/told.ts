// What a plan tells the owners of objects, in short.
import { formatRef } from '#controller/api/ref.ts';
import type { StatusUpdate } from '#controller/api/plan.ts';
import type { Plan } from '#controller/output/plan.ts';

function desiredOf({ statuses }: Plan, object: string): StatusUpdate['desired'] {
  const update = statuses.find(({ ref }) => formatRef(ref) === object);
  if (update === undefined) throw new Error(`there is no status for ${object}`);
  return update.desired;
}

/** Of each listener, in order. */
export function attachedRoutes(plan: Plan, object: string): readonly number[] {
  return listenersOf(plan, object).map((listener) => listener.attachedRoutes);
}

export function attachedSets(plan: Plan, object: string): number | undefined {
  const desired = desiredOf(plan, object);
  return desired.form === 'gateway' ? desired.attachedListenerSets : undefined;
}

/** `Gateway name section: True/Accepted` for each parent of a route. */
export function parentsOf(plan: Plan, object: string): readonly string[] {
  const desired = desiredOf(plan, object);
  if (desired.form !== 'parents') return [];
  return desired.parents.map(({ parentRef: { kind, name, sectionName }, conditions }) => {
    const accepted = conditions.find(({ type }) => type === 'Accepted');
    return `${[kind, name, sectionName].filter(Boolean).join(' ')}: ${accepted?.status}/${accepted?.reason}`;
  });
}

const listenersOf = (plan: Plan, object: string) => {
  const desired = desiredOf(plan, object);
  return 'listeners' in desired ? desired.listeners : [];
};

export const listenerNames = (plan: Plan, object: string): readonly string[] => listenersOf(plan, object).map(({ name }) => name);

export const supportedKinds = (plan: Plan, object: string): readonly (readonly string[] | undefined)[] =>
  listenersOf(plan, object).map((listener) => listener.supportedKinds?.map(({ kind }) => kind));

/** Listener id → hostnames for which the proxies are told to serve a route there. */
export function hostnamesServed({ planes }: Plan, object: string): Readonly<Record<string, readonly string[]>> {
  const items = planes.flatMap((plane) => plane.items);
  const route = items.find((item) => item.kind === 'route' && `${item.type}Route ${item.namespace}/${item.name}` === object);
  if (route?.kind !== 'route') return {};
  return Object.fromEntries(route.attachments.map(({ listener, hostnames }) => [listener, hostnames]));
}
