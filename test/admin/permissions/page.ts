/** docs/PERMISSIONS.md: who may do what, from the tables that the routes are guarded by. */
import type { RouteAccess } from '../../../src/admin/auth/access.ts'
import { ADMIN } from '../../../src/admin/auth/caller.ts'
import type {
  ActionName,
  CollectionDefinition,
} from '../../../src/admin/entities/definitions/definition.ts'
import {
  AUTH_ENDPOINTS,
  type Endpoint,
  NODE_ENDPOINTS,
  PLANNED_ENDPOINTS,
  REALTIME_ENDPOINT,
  SETTINGS_ENDPOINTS,
} from '../../../src/admin/permissions/endpoints.ts'

const ABOUT = `# Who may do what

This page is made from the tables that the routes are guarded by (\`src/admin/permissions/\`, and
the \`roles\` of \`src/admin/entities/definitions/\`); a test keeps it so. To make it anew:
\`UPDATE_DOCS=1 npx vitest run test/admin/permissions\`.

A caller who has **one of the roles** that are named may; one with \`admin\` always may.
\`write\` does not include \`read\`. *Anybody* need not authenticate; *who has logged in* needs no
role. Users have the roles of their document (\`users\`) or of their directory, clients those that
they were made with. A token of a user has the roles that both have.

Rules of your own, in the category \`permissions\` of the settings, stand in place of these roles:
the first one that names the collection and the action holds, and a role may have any name.

    {"rules": [{"collection": "accounts", "actions": ["get"], "roles": ["support"]}]}

\`*\` is every collection or action; \`api\` is the collection of the action API. Rules that
cannot be read leave everything to \`admin\`.

Without a login the entity API and the action API answer with HTTP 200, \`status\` 0 and \`code\`
17574; without the role with 17575. A token that has ended or is unknown gets HTTP 401. Everything
else answers with HTTP 401, or without the role with 403.
`

/** The page, whole. */
export function permissionsPage(definitions: ReadonlyMap<string, CollectionDefinition>): string {
  const sections = [
    ['Authentication', endpointTable(AUTH_ENDPOINTS)],
    ['The node', `${endpointTable(Object.values(NODE_ENDPOINTS))}\n\n${OPEN}`],
    ['Charging', `${endpointTable([REALTIME_ENDPOINT])}\n\n${CHARGING}`],
    ['Settings', endpointTable(SETTINGS_ENDPOINTS)],
    ['Entity API', entityTable(definitions)],
    ['Action API', `${PLANNED}\n\n${endpointTable(PLANNED_ENDPOINTS)}`],
  ]
  const texts = sections.map(([title, text]) => `## ${title}\n\n${text}\n`)
  return [ABOUT, ...texts].join('\n')
}

const OPEN = `What \`admin.openPaths\` names is open to anybody: \`health\` and \`docs\` (without
configured fields) if you say nothing else, \`metrics\` and \`heartbeat\` (\`GET /api\`) where you
name them.`

const CHARGING = `On a port of its own, where network elements have keys (\`tollgate peer\`), too:
see [WIRE.md](WIRE.md).`

const PLANNED = 'Guarded already, and not served yet: who may use them gets 404.'

function endpointTable(endpoints: readonly Endpoint[]): string {
  const rows = endpoints.map(({ method, path, access, about }) =>
    row(`\`${method} ${path}\``, who(access), about),
  )
  return table(['Endpoint', 'Who', 'What for'], rows)
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
  if (typeof access === 'string') return '*who has logged in*'
  return [...new Set([...access, ADMIN])].map((role) => `\`${role}\``).join(', ')
}

function table(head: readonly string[], rows: readonly string[]): string {
  return [row(...head), row(...head.map(() => '---')), ...rows].join('\n')
}

function row(...cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}
