// Who may claim which hostname: the table that the controller and the admission policies of the chart must agree on. `label` undefined: the
// namespace has no such label; `hostnames` undefined: the route has no such field. Listeners have one hostname each, or none.

export interface OwnershipVector {
  readonly title: string;
  readonly label: string | undefined;
  readonly hostnames: readonly string[] | undefined;
  /** Whether the route is, while nothing else is set. */
  readonly allowed: boolean;
}

export interface OwnershipOptions {
  readonly unlabelled: 'Deny' | 'Ignore';
  readonly emptyHostnames: 'Reject' | 'Scope';
}

export const ownershipOptions: readonly OwnershipOptions[] = [
  { unlabelled: 'Deny', emptyHostnames: 'Reject' },
  { unlabelled: 'Ignore', emptyHostnames: 'Scope' },
];

/** Listeners without a hostname claim nothing; a route without hostnames claims all that its listener has. */
export function verdict({ label, hostnames, allowed }: OwnershipVector, of: 'routes' | 'listeners', options: OwnershipOptions): boolean {
  const empty = hostnames === undefined || hostnames.length === 0;
  if (allowed || (label === undefined && options.unlabelled === 'Ignore')) return true;
  return empty && (of === 'listeners' || (options.emptyHostnames === 'Scope' && label !== undefined && label !== ''));
}

const TEAM_A = 'team-a.example.com';

export const ownershipVectors: readonly OwnershipVector[] = [
  { title: 'the domain itself', label: TEAM_A, hostnames: [TEAM_A], allowed: true },
  { title: 'a subdomain', label: TEAM_A, hostnames: ['app.team-a.example.com'], allowed: true },
  { title: 'a deep subdomain', label: TEAM_A, hostnames: ['x.y.team-a.example.com'], allowed: true },
  { title: 'a wildcard inside', label: TEAM_A, hostnames: ['*.team-a.example.com'], allowed: true },
  { title: 'several inside', label: TEAM_A, hostnames: ['a.team-a.example.com', 'b.team-a.example.com'], allowed: true },
  { title: 'an upper-case label', label: 'Team-A.Example.COM', hostnames: ['app.team-a.example.com'], allowed: true },
  { title: 'a foreign host', label: TEAM_A, hostnames: ['app.team-b.example.com'], allowed: false },
  { title: 'a name that only ends like the domain', label: TEAM_A, hostnames: ['evilteam-a.example.com'], allowed: false },
  { title: 'the domain as prefix of a foreign zone', label: TEAM_A, hostnames: ['team-a.example.com.evil.net'], allowed: false },
  { title: 'a wildcard that reaches beyond', label: TEAM_A, hostnames: ['*.example.com'], allowed: false },
  { title: 'the parent zone', label: TEAM_A, hostnames: ['example.com'], allowed: false },
  { title: 'one inside, one outside', label: TEAM_A, hostnames: ['app.team-a.example.com', 'app.team-b.example.com'], allowed: false },
  { title: 'no hostnames', label: TEAM_A, hostnames: undefined, allowed: false },
  { title: 'an empty list of hostnames', label: TEAM_A, hostnames: [], allowed: false },
  { title: 'a namespace without label', label: undefined, hostnames: ['app.team-a.example.com'], allowed: false },
  // Further ones of ours.
  { title: 'an upper-case hostname', label: TEAM_A, hostnames: ['APP.Team-A.example.com'], allowed: true },
  { title: 'a wildcard below', label: TEAM_A, hostnames: ['*.app.team-a.example.com'], allowed: true },
  { title: 'a wildcard that only ends like the domain', label: TEAM_A, hostnames: ['*.evilteam-a.example.com'], allowed: false },
  { title: 'a namespace with an empty label', label: '', hostnames: ['app.team-a.example.com'], allowed: false },
  { title: 'no label and no hostnames', label: undefined, hostnames: undefined, allowed: false },
  { title: 'no label and an empty list', label: undefined, hostnames: [], allowed: false },
  { title: 'a deep wildcard that reaches beyond', label: TEAM_A, hostnames: ['*.com'], allowed: false },
  { title: 'a sibling whose name is longer', label: TEAM_A, hostnames: ['team-a.example.company'], allowed: false },
  { title: 'an empty label and no hostnames', label: '', hostnames: undefined, allowed: false },
  { title: 'a dot before the domain and nothing else', label: TEAM_A, hostnames: ['xteam-a.example.com', TEAM_A], allowed: false },
  { title: 'the domain of the top level', label: 'com', hostnames: ['anything.com'], allowed: true },
  {
    title: 'foreign last of many',
    label: TEAM_A,
    hostnames: [...Array.from({ length: 15 }, (_, i) => `h${i}.team-a.example.com`), 'x.test'],
    allowed: false,
  },
];
