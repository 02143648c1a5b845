// Who we are towards the API server: the request options that a KubeConfig yields, and fresh ones when the server no longer accepts them.
import type { Agent, RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';

/** Options for one request, with everything that authenticates it. */
export interface Applied {
  readonly options: RequestOptions;
  /** Set when the cluster is behind a forward proxy, which needs an agent of its own. */
  readonly agent: Agent | null;
  /** Tells which credentials these are, for `renew`. */
  readonly generation: number;
}

export class Credentials {
  #config: KubeConfig;
  #generation = 0;
  readonly server: URL;

  constructor(config: KubeConfig) {
    const cluster = config.getCurrentCluster();
    if (cluster === null) throw new Error('the kubeconfig has no current cluster: set current-context');
    this.#config = config;
    const server = URL.parse(cluster.server);
    if (server === null)
      throw new Error('the server of the current cluster in the kubeconfig is not a URL: correct clusters[].cluster.server');
    this.server = server;
  }

  async apply(): Promise<Applied> {
    const options: RequestOptions = {};
    const generation = this.#generation;
    try {
      await this.#config.applyToHTTPSOptions(options);
    } catch (error) {
      // The output of a credential plugin that is no JSON may hold the token, and a SyntaxError quotes it.
      const why = error instanceof SyntaxError ? 'the output of the credential plugin is not valid JSON' : String(error);
      // oxlint-disable-next-line preserve-caught-error -- a logger would print it
      throw new Error(`cannot obtain the credentials of the kubeconfig user: ${why}`);
    }
    const { agent, ...rest } = options;
    const proxied = this.#config.getCurrentCluster()?.proxyUrl !== undefined;
    return { options: rest, agent: proxied ? (agent as Agent) : null, generation };
  }

  /**
   * Forgets cached tokens, after an answer of 401: a copy of the configuration reads files and runs plugins anew. Many requests fail
   * together, so only the first of a generation renews.
   */
  renew(generation: number): void {
    if (generation !== this.#generation) return;
    const { clusters, users, contexts, currentContext } = this.#config;
    const fresh = new KubeConfig();
    fresh.loadFromOptions({ clusters, users, contexts, currentContext });
    this.#config = fresh;
    this.#generation++;
  }
}
