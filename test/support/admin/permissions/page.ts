/** docs/ACCESS.md, "Permissions": its tables, generated from the access of the routes. */
import { pathsOf } from '../../../../src/admin/actions/action.ts'
import { ACTIONS } from '../../../../src/admin/actions/table.ts'
import { ENDPOINTS } from '../../../../src/admin/endpoints.ts'
import type { EndpointDescription } from '../../../../src/admin/http/endpoint.ts'
import type {
  ActionName,
  CollectionDefinition,
} from '../../../../src/entities/definitions/definition.ts'
import type { RouteAccess } from '../../../../src/identity/access.ts'
import { ADMIN } from '../../../../src/identity/caller.ts'

type Endpoint = Pick<EndpointDescription, 'method' | 'path' | 'access' | 'about'>

export const ACTION_ENDPOINTS: readonly Endpoint[] = ACTIONS.flatMap((action) => {
  const { access, about } = action
  return pathsOf(action).map((path) => ({ method: 'POST', path, access, about }) as const)
})

/** On its own port, authenticated by the keys of network elements. */
const REALTIME: Endpoint = {
  method: 'POST',
  path: '/realtime',
  access: ['charge'],
  about: 'Charge a session',
}

const BEGIN = '<!-- permissions -->\n'
const END = '<!-- /permissions -->'

/** The document with the tables between its markers. */
export function withPermissions(
  text: string,
  definitions: ReadonlyMap<string, CollectionDefinition>,
): string {
  const begin = text.indexOf(BEGIN) + BEGIN.length
  const end = text.indexOf(END)
  if (begin < BEGIN.length || end < begin) throw new Error(`the document has no ${BEGIN}${END}`)
  return text.slice(0, begin) + permissionTables(definitions) + text.slice(end)
}

function permissionTables(definitions: ReadonlyMap<string, CollectionDefinition>): string {
  const sections = [
    ['Authentication', endpointTable(ENDPOINTS.auth)],
    ['The node', `${endpointTable(ENDPOINTS.node)}\n\n${OPEN}`],
    ['Charging', `${endpointTable([REALTIME])}\n\n${CHARGING}`],
    ['Settings', endpointTable(ENDPOINTS.settings)],
    ['Clock', endpointTable(ENDPOINTS.clock)],
    ['Payment gateways', endpointTable(ENDPOINTS.payments)],
    ['Entity API', entityTable(definitions)],
    ['Action API', endpointTable(SERVED)],
  ]
  const texts = sections.map(([title, text]) => `### ${title}\n\n${text}\n`)
  return texts.join('\n')
}

const OPEN = `\`admin.openPaths\` opens paths to anybody: by default \`health\` and \`docs\`
(without configured fields); \`metrics\` and \`heartbeat\` (\`GET /api\`) if you name them.`

const CHARGING = `The charging port serves the same path to network elements with keys
(\`tollgate peer\`): [WIRE.md](WIRE.md).`

const SERVED = [...ACTION_ENDPOINTS, ...ENDPOINTS.reports]

function endpointTable(endpoints: readonly Endpoint[]): string {
  const rows = endpoints.map(({ method, path, access, about }) =>
    row(`\`${method} ${path}\``, who(access), about),
  )
  return table(['Endpoint', 'Who', 'Purpose'], rows)
}

function entityTable(definitions: ReadonlyMap<string, CollectionDefinition>): string {
  const rows = [...definitions.values()].flatMap(({ name, actions }) =>
    byRoles(actions).map(([roles, names]) =>
      row(`\`${name}\``, names.map((each) => `\`${each}\``).join(', '), roles),
    ),
  )
  return table(['Collection', 'Actions', 'Who'], rows)
}

function byRoles(actions: CollectionDefinition['actions']): [string, ActionName[]][] {
  const found = new Map<string, ActionName[]>()
  for (const [name, action] of Object.entries(actions)) {
    if (action === undefined) continue
    const roles = who(action.roles)
    found.set(roles, [...(found.get(roles) ?? []), name as ActionName])
  }
  return [...found]
}

function who(access: RouteAccess): string {
  if (access === 'public') return '*anybody*'
  if (typeof access === 'string') return '*any login*'
  return [...new Set([...access, ADMIN])].map((role) => `\`${role}\``).join(', ')
}

function table(head: readonly string[], rows: readonly string[]): string {
  return [row(...head), row(...head.map(() => '---')), ...rows].join('\n')
}

function row(...cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}
