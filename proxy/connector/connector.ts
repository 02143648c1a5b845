// What the proxy knows of a tunnel's connector, whichever implementation carries the traffic.

export interface ConnectorOptions {
  /** The tunnel's token: a secret, never logged. */
  readonly token: string;
  /** `auto` leaves the choice to the implementation. */
  readonly protocol: 'auto' | 'http2' | 'quic';
  /**
   * Loopback port that serves every request until the tunnel's first document arrives, and for good when the tunnel is managed locally.
   * Absent: such requests are answered with 503.
   */
  readonly originPort?: number;
  /** Edge addresses as `host:port`. Empty: they are discovered through DNS. */
  readonly edge: readonly string[];
  /** Certificate authorities (PEM) that the edge's certificate must lead to. Absent: those that the implementation ships with. */
  readonly edgeCa?: string;
  /** How long `drain` lets requests finish, in milliseconds. */
  readonly gracePeriodMs: number;
  /** Name of this connector for people, where the implementation has a place for it. */
  readonly label?: string;
  readonly log: ConnectorLog;
}

/** The part of a pino logger that connectors use: a constant message, what varies in fields. */
export interface ConnectorLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/**
 * starting: no connection has been registered yet. connected: at least one is. reconnecting: all were lost.
 * draining: unregistered, serving what is in flight. stopped: ended because it was asked to. failed: it has given up; only a new connector helps.
 */
export type ConnectorPhase = 'starting' | 'connected' | 'reconnecting' | 'draining' | 'stopped' | 'failed';

export interface ConnectorState {
  readonly phase: ConnectorPhase;
  /** Connections that are registered at the edge and not draining. */
  readonly connections: number;
  /** Version of the tunnel document in force, -1 before any. */
  readonly configVersion: number;
  /** The last thing that went wrong and is not mended yet. The message holds no secret. */
  readonly error: ConnectorError | null;
}

export interface ConnectorError {
  /** CamelCase, stable, for logs and metrics; each implementation has its own. */
  readonly code: string;
  readonly message: string;
}

export interface Connector {
  /** Begins to connect; returns at once. A second call does nothing. */
  start(): void;
  readonly state: ConnectorState;
  /** Calls the listener after each change of state. Returns the function that ends it. */
  onState(listener: (state: ConnectorState) => void): () => void;
  /** Unregisters, serves what is in flight, then ends; cuts what is left after the grace period. */
  drain(): Promise<void>;
  /** Ends at once. */
  stop(): Promise<void>;
}
