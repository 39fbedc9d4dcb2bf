/**
 * Generates the OpenAPI 3.1 document of the entity API from the definitions that requests are
 * validated against.
 */
import {
  anyValue,
  type Members,
  object,
  open,
  ref,
  refName,
  type Schema,
} from '../../catalog/entities/json-schema.ts'
import { INVOICE } from '../../catalog/records/money/invoice-document.ts'
import { RECORD_COMPOUNDS } from '../../catalog/records/record-schemas.ts'
import type { CollectionDefinition } from '../../entities/definitions/definition.ts'
import { actionsOf } from '../../entities/definitions/params.ts'
import { hasTrait } from '../../entities/definitions/traits.ts'
import type { FieldDefinition } from '../../entities/fields/field-definition.ts'
import { textDatesOf } from '../../entities/requests/text-dates.ts'
import { BILL_DATES } from '../actions/bill.ts'
import { LINE_DATES } from '../actions/bulkcredit.ts'
import { INVOICE_DATES } from '../actions/invoice-view.ts'
import { LIST_SCHEMAS } from '../actions/list-schemas.ts'
import { QUOTE_SCHEMAS } from '../actions/quote-schemas.ts'
import { ACTIONS } from '../actions/table.ts'
import { ACTION_TAG, actionPaths } from './actions.ts'
import { entityName } from './answers.ts'
import { COMMON_SCHEMAS } from './components.ts'
import { COMPOUNDS } from './compounds.ts'
import { withEarlyRefusals } from './early-refusals.ts'
import { endpointPaths } from './endpoint-paths.ts'
import { ERROR_RESPONSES, ERROR_SCHEMAS, EXAMPLE_COMPONENTS } from './errors.ts'
import { IMPORT_COMPOUNDS } from './import-fields.ts'
import { operationsOf, type PathItem } from './operations.ts'
import {
  type ResponseKind,
  type ResponseSchemaOptions,
  responseSchema,
} from './response-schemas.ts'
import { FILTER_COMPOUNDS, REVISION_INFO, storedFields } from './schemas.ts'

export interface OpenApiDocument {
  readonly openapi: '3.1.0'
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string; readonly description: string }[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, PathItem>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly responses: Readonly<Record<string, Schema>>
    readonly examples: Readonly<Record<string, Schema>>
    readonly securitySchemes: Readonly<Record<string, Schema>>
  }
  /** One of these is sufficient. */
  readonly security: readonly Schema[]
}

export interface DocumentOptions {
  /** Configured fields by collection name; a collection without an entry has none. */
  readonly fields: ReadonlyMap<string, readonly FieldDefinition[]>
  /** Version of the interface. */
  readonly version: string
  /** Base URL of the node for the examples, such as `http://127.0.0.1:8182`. */
  readonly baseUrl: string
}

const ABOUT =
  'Reads and writes the configuration and data of a tenant. Parameters are sent in the query ' +
  'string, as JSON, or as a form whose `query`, `update`, `options`, `sort`, `project` and ' +
  '`states` are JSON text. A response has `status` 1, or 0 with the error, both with HTTP status ' +
  '200. Examples send an access token in `$TOKEN`, obtained with `POST /oauth2/token`.'

/** Authentication methods. */
const SECURITY_SCHEMES: Readonly<Record<string, Schema>> = {
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'tollgate_session',
    description:
      'Set by `POST /auth/login`; over TLS its name is `__Host-tollgate_session`. Pages of other ' +
      'sites cannot use it.',
  },
  token: {
    type: 'oauth2',
    description: 'Sent as `Authorization: Bearer TOKEN`.',
    flows: {
      clientCredentials: {
        tokenUrl: '/oauth2/token',
        scopes: { global: 'All permissions of the client' },
      },
    },
  },
  tokenParameter: {
    type: 'apiKey',
    in: 'query',
    name: 'access_token',
    description:
      'The same token as a parameter, also in the body of a form. URLs are usually logged.',
  },
  signature: {
    type: 'apiKey',
    in: 'query',
    name: '_sig_',
    description:
      'HMAC-SHA-512 of all parameters with a shared secret, or as `signature`; with the time in ' +
      '`_t_`. Also in the body.',
  },
}

/** Any one of them is sufficient. */
const SECURITY: readonly Schema[] = Object.keys(SECURITY_SCHEMES).map((name) => ({
  [name]: [],
}))

const COMPONENTS: Readonly<Record<string, Schema>> = {
  ...COMPOUNDS,
  ...RECORD_COMPOUNDS,
  ...IMPORT_COMPOUNDS,
  ...FILTER_COMPOUNDS,
  ...COMMON_SCHEMAS,
  ...ERROR_SCHEMAS,
  ...QUOTE_SCHEMAS,
  ...LIST_SCHEMAS,
}

export function openApiDocument(
  definitions: ReadonlyMap<string, CollectionDefinition>,
  { fields: byCollection, version, baseUrl }: DocumentOptions,
): OpenApiDocument {
  const own: Record<string, Schema> = {}
  const described: Record<string, PathItem> = {
    ...endpointPaths(baseUrl, own),
    ...actionPaths(ACTIONS, baseUrl),
  }
  for (const definition of definitions.values()) {
    const { name: collection } = definition
    const fields = byCollection.get(collection) ?? []
    for (const responseKind of ['read', 'written'] as const) {
      own[entityName(collection, responseKind)] = entityResponseSchema(
        definition,
        fields,
        responseKind,
      )
    }
    const dates = SHOWN_DATES[collection]
    if (dates !== undefined)
      own[`${collection}.shown`] = entityResponseSchema(
        { ...definition, textDates: dates },
        fields,
        'read',
      )
    for (const name of actionsOf(definition)) {
      const action = definition.actions[name]
      if (action === undefined) continue
      const operation = operationsOf({ definition, name, action, fields }, baseUrl)
      described[`/billapi/${collection}/${name}`] = operation.item
      Object.assign(own, operation.schemas)
    }
  }
  own['invoices.shown'] = invoiceSchema()
  const named = referencedComponents('responses', ERROR_RESPONSES, described)
  const { paths, responses } = withEarlyRefusals(described, named)
  return {
    openapi: '3.1.0',
    info: { title: 'Tollgate entity API', version, description: ABOUT },
    servers: [{ url: '/', description: 'The admin port of this node.' }],
    tags: [
      NODE,
      ACCESS,
      PAYMENTS,
      ACTION_TAG,
      ...[...definitions.values()].map(({ name, about }) => ({ name, description: about })),
    ],
    paths,
    components: {
      schemas: referencedSchemas([paths, responses], own),
      responses,
      examples: referencedComponents('examples', EXAMPLE_COMPONENTS, [paths, responses]),
      securitySchemes: SECURITY_SCHEMES,
    },
    security: SECURITY,
  }
}

/** Schema of a document in responses. */
function entityResponseSchema(
  definition: CollectionDefinition,
  fields: readonly FieldDefinition[],
  responseKind: ResponseKind,
): Schema {
  const options = responseSchemaOptions(responseKind, textDatesOf(definition, fields))
  const properties = responseFields(storedFields(definition, fields), options)
  const isEntity = responseKind === 'read' && definition.keyField !== '_id'
  const isStored = responseKind === 'written' && !hasTrait(definition, 'isStoredLater')
  return {
    type: 'object',
    description: responseKind === 'read' ? SHOWN : 'The stored document.',
    properties: {
      ...properties,
      ...(isEntity && { revision_info: REVISION_INFO }),
    },
    ...(isStored && { required: ['_id'] }),
    // Entities have configured fields, bills those of payment gateways.
    additionalProperties:
      !hasTrait(definition, 'isDescribed') && anyValue('A field that is not described here.'),
  }
}

const SHOWN = 'A document; `project` may exclude any part of it.'

function responseFields(fields: Members, options: ResponseSchemaOptions): Members {
  const shown = Object.entries(fields).map(([name, schema]) => [
    name,
    responseSchema(schema, name, name, options),
  ])
  return Object.fromEntries(shown)
}

/** Further dates that are texts in the answers of actions, by collection. */
const SHOWN_DATES: Readonly<Record<string, readonly string[]>> = {
  bills: BILL_DATES,
  lines: LINE_DATES,
}

function invoiceSchema(): Schema {
  const fields = { _id: ref('idGiven', 'Id of the document.'), ...INVOICE }
  const options = responseSchemaOptions('read', INVOICE_DATES)
  return open(object('An invoice.', responseFields(fields, options)))
}

function responseSchemaOptions(
  responseKind: ResponseKind,
  textDates: readonly string[],
): ResponseSchemaOptions {
  const component = (name: string) => COMPONENTS[name] ?? {}
  return { responseKind, textDates: new Set(textDates), component }
}

const VARIANT = /^(.+)\.(read|written)$/

/** All components that are referenced directly or by other components. */
function referencedSchemas(roots: unknown, own: Readonly<Record<string, Schema>>) {
  const found = new Map<string, Schema>()
  const pending = refsIn(roots)
  for (const name of pending) {
    if (found.has(name)) continue
    const schema = own[name] ?? COMPONENTS[name] ?? responseVariant(name)
    found.set(name, schema)
    pending.push(...refsIn(schema))
  }
  return Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Schema of a compound value in responses. */
function responseVariant(name: string): Schema {
  const [, base = '', responseKind] = VARIANT.exec(name) ?? []
  const options = responseSchemaOptions(responseKind === 'read' ? 'read' : 'written', [])
  const { description, anyOf, ...rest } = responseSchema(COMPONENTS[base] ?? {}, '', null, options)
  return { description, ...(anyOf !== undefined && { anyOf }), ...rest }
}

function refsIn(value: unknown): string[] {
  return pointersIn(value).flatMap(($ref) => refName({ $ref }) ?? [])
}

function pointersIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const { $ref: pointer } = value as Schema
  const inner = Object.values(value).flatMap(pointersIn)
  return typeof pointer === 'string' ? [pointer, ...inner] : inner
}

/** Referenced components of one kind. */
function referencedComponents(
  kind: 'responses' | 'examples',
  all: Readonly<Record<string, Schema>>,
  by: unknown,
) {
  const pointers = new Set(pointersIn(by))
  return Object.fromEntries(
    Object.entries(all).filter(([name]) => pointers.has(`#/components/${kind}/${name}`)),
  )
}

const NODE = { name: 'node', description: 'Endpoints of the node' } as const
const PAYMENTS = { name: 'payments', description: 'Payment gateways, pages of customers' } as const
const ACCESS = { name: 'access', description: 'Login, tokens and settings' } as const
