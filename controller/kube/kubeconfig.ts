// Reads a kubeconfig: a file, or what client tools take by default, which in a pod is its ServiceAccount.
import { KubeConfig } from '@kubernetes/client-node';

/** `file` empty: the default. Throws with the file, the reason and the line; never with what stands in it, as tokens and keys do. */
export function loadKubeConfig(file: string): KubeConfig {
  const kubeConfig = new KubeConfig();
  try {
    if (file === '') kubeConfig.loadFromDefault();
    else kubeConfig.loadFromFile(file);
    return kubeConfig;
  } catch (error) {
    const where = file === '' ? 'the default kubeconfig (KUBECONFIG, ~/.kube/config or the ServiceAccount)' : `--kubeconfig=${file}`;
    // oxlint-disable-next-line preserve-caught-error -- a logger would print it
    throw new Error(`${where} ${explain(error)}`);
  }
}

function explain(error: unknown): string {
  const { code, mark } = error as { readonly code?: unknown; readonly mark?: { readonly line?: unknown } };
  if (typeof code === 'string') return `cannot be read: ${code}`;
  return typeof mark?.line === 'number' ? `is not YAML: line ${mark.line + 1}` : 'is not a kubeconfig';
}
