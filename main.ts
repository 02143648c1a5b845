// Entry of the image: one program, two roles. Manifests that only change the image keep working, because --proxy-endpoints tells the role.
const [role, ...rest] = process.argv.slice(2);
const named = role === 'controller' || role === 'proxy';
const asController = named
  ? role === 'controller'
  : process.argv.some((arg) => arg.startsWith('--proxy-endpoints')) || Boolean(process.env['CF_PROXY_ENDPOINTS']);
if (named) process.argv.splice(2, process.argv.length, ...rest);

await(asController ? import('./controller/main.ts') : import('./proxy/main.ts'));
