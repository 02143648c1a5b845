// All listeners of a Gateway, those of its ListenerSets behind its own.
import type { GatewayNode, ListenerNode } from '../graph/types.ts';

export const listenersOf = ({ listeners, sets }: GatewayNode): readonly ListenerNode[] => [
  ...listeners,
  ...sets.flatMap((set) => set.listeners),
];
