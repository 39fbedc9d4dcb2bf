/** The OpenAPI 3.1 document of the entity API, from the definitions that requests are read by. */
import type { ActionName, CollectionDefinition } from '../definition.ts'
import { actionsOf } from '../definitions/params.ts'
import type { FieldDefinition } from '../field-definition.ts'
import { COMMON_RESPONSES, COMMON_SCHEMAS, OPTION_SCHEMAS } from './components.ts'
import { NODE_PATHS } from './node-paths.ts'
import { operationsOf, type PathItem } from './operations.ts'
import { entitySchema, type Schema } from './schemas.ts'
import { SECURITY, SECURITY_SCHEMES } from './security.ts'

export interface OpenApiDocument {
  readonly openapi: '3.1.0'
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, PathItem>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly responses: Readonly<Record<string, Schema>>
    readonly securitySchemes: Readonly<Record<string, Schema>>
  }
  /** Any of them. */
  readonly security: readonly Schema[]
}

const ABOUT =
  'Reads and writes of all that a tenant configures and holds. Parameters come in the address, ' +
  'as JSON, or as a form whose `query`, `update`, `options`, `sort`, `project` and `states` are ' +
  'texts of JSON. An answer has `status` 1, or 0 with the reason, both with HTTP status 200.'

const TAGS: Readonly<Record<string, string>> = {
  accounts: 'Customer accounts',
  subscribers: 'Subscribers of accounts',
  plans: 'What subscribers pay for each cycle, with what it includes',
  services: 'What subscribers and accounts hold beside their plan',
  rates: 'What usage costs',
  balances: 'Credit and counters of subscribers and accounts; credit is negative',
  bills: 'Invoices, payments and refunds',
  charges: 'Charges that conditions decide on',
  discounts: 'Discounts on plans, services and fees',
  prepaidincludes: 'Definitions of buckets',
  prepaidgroups: 'Top-ups of several buckets together',
  taxes: 'Tax rates',
  reports: 'Saved reports',
  users: 'Operators',
  lines: 'Records of usage, credits and balance changes',
  autorenew: 'Prepaid groups that are given again and again',
}

/**
 * The document. `fieldsByCollection`: configured fields by name of the collection; without an entry
 * it has none. `version`: of the interface.
 */
export function openApiDocument(
  definitions: ReadonlyMap<string, CollectionDefinition>,
  fieldsByCollection: ReadonlyMap<string, readonly FieldDefinition[]>,
  version: string,
): OpenApiDocument {
  const paths: Record<string, PathItem> = { ...NODE_PATHS }
  const { options = {} } = OPTION_SCHEMAS
  const schemas: Record<string, Schema> = { ...COMMON_SCHEMAS, options }
  for (const definition of definitions.values()) {
    const { name } = definition
    const fields = fieldsByCollection.get(name) ?? []
    schemas[`${name}.entity`] = entitySchema(definition, fields)
    for (const action of actionsOf(definition)) {
      const made = operationsOf(definition, action, actionOf(definition, action), fields)
      paths[`/billapi/${name}/${action}`] = made.item
      Object.assign(schemas, made.schemas)
    }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Tollgate entity API', version, description: ABOUT },
    servers: [{ url: '/' }],
    tags: [NODE, ACCESS, ...[...definitions.keys()].map(tagOf)],
    paths,
    components: { schemas, responses: COMMON_RESPONSES, securitySchemes: SECURITY_SCHEMES },
    security: SECURITY,
  }
}

function actionOf(definition: CollectionDefinition, name: ActionName) {
  const action = definition.actions[name]
  if (action === undefined) throw new RangeError(`${definition.name} have no ${name}`)
  return action
}

function tagOf(name: string) {
  return { name, description: TAGS[name] ?? '' }
}

const NODE = { name: 'node', description: 'The node itself' } as const
const ACCESS = { name: 'access', description: 'Logging in, tokens and settings' } as const
