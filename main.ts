// Entry of the image: one program, two roles. Manifests that only change the image keep working, because --proxy-endpoints tells the role.
const [role, ...rest] = process.argv.slice(2);
const named = role === 'controller' || role === 'proxy';
const asController = named
  ? role === 'controller'
  : process.argv.some((arg) => arg.startsWith('--proxy-endpoints')) || Boolean(process.env['CF_PROXY_ENDPOINTS']);
if (named) process.argv.splice(2, process.argv.length, ...rest);

if (process.argv.some((arg) => arg === '--help' || arg === '-h')) await printHelp();
else await (asController ? import('./controller/main.ts') : import('./proxy/main.ts'));

async function printHelp(): Promise<void> {
  const [controller, proxy] = await Promise.all([import('./controller/config.ts'), import('./proxy/settings.ts')]);
  const lines = [
    'usage: main.ts controller --proxy-endpoints=URL [--name=value …]',
    '       main.ts proxy',
    '',
    'flags of the controller, or environment variables instead:',
    ...controller.helpLines(),
    '',
    'environment variables of the proxy, which has no flags:',
    ...proxy.helpLines(),
    '',
  ];
  process.stdout.write(lines.join('\n'));
}
