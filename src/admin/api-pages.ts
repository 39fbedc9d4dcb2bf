/**
 * API description: `/openapi.json`, that of the charging port, `/openapi/realtime.json`, and for
 * people `/docs`.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { FIELD_CATEGORIES, type FieldSettings } from '../catalog/settings/stored-config.ts'
import type { Config } from '../config/schema.ts'
import { DEFINITIONS } from '../entities/definitions/collections.ts'
import { fieldsOf } from '../entities/fields/configured.ts'
import type { CurrentFields } from '../entities/fields/current.ts'
import type { FieldDefinition } from '../entities/fields/field-definition.ts'
import type { Logger } from '../runtime/log.ts'
import { API_DOCUMENT_ENDPOINTS, API_PAGE_ENDPOINT, type DocumentOf } from './api-endpoints.ts'
import { addBuiltFiles, builtFolder } from './console/files.ts'
import { compressed, type Representations } from './encodings.ts'
import { INTERFACE_VERSION } from './heartbeat.ts'
import { errorHandler } from './http/answer.ts'
import { addEndpoints } from './http/endpoint.ts'
import { type OpenApiDocument, openApiDocument } from './openapi/document.ts'

/**
 * The first takes a tenth of a second to make, so it is kept until the configured fields change. If
 * these cannot be read or compiled, the request fails with that error. An unauthenticated client
 * sees only the built-in fields, and no address of the node but loopback. The page reads both
 * documents; without built files the page is not served.
 */
export function addApiPages(
  server: FastifyInstance,
  pages: ApiPages,
  log: Pick<Logger, 'error'>,
): void {
  server.register(async (routes) => {
    routes.setErrorHandler(errorHandler(log))
    let charging: Representations | undefined
    const documents = {
      documentOf: createDocuments(pages),
      charging: () => {
        charging ??= compressed(JSON.stringify(pages.charging()))
        return charging
      },
    }
    addEndpoints(routes, API_DOCUMENT_ENDPOINTS, documents, pages.openPaths)
    const page = addBuiltFiles(routes, '/docs/', builtFolder('openapi'))
    if (page !== null) addEndpoints(routes, [API_PAGE_ENDPOINT], page, pages.openPaths)
  })
}

export interface ApiPages {
  readonly fields: CurrentFields
  readonly openPaths: Config['admin']['openPaths']
  /** Port of the control plane, for the examples of unauthenticated clients. */
  readonly port: number
  /** Whether the caller is authenticated and may see the configured fields. */
  isAuthenticated(request: FastifyRequest, reply: FastifyReply): Promise<boolean>
  /** The document of the charging port. */
  readonly charging: () => OpenApiDocument
  /** `openApiDocument`, unless in tests. */
  readonly make?: typeof openApiDocument
}

/** Documents of authenticated callers that are kept, one per address by which they call. */
const KEPT_MAX = 4

const NOTHING_STORED = Object.fromEntries(
  FIELD_CATEGORIES.map((category) => [category, {}]),
) as FieldSettings

function createDocuments({
  fields,
  isAuthenticated,
  port,
  make = openApiDocument,
}: ApiPages): DocumentOf {
  // In two turns of the event loop, so that other requests do not wait for all of them.
  const documentFor = async (
    baseUrl: string,
    byCollection: ReadonlyMap<string, Fields>,
  ): Promise<Representations> => {
    const options = { fields: byCollection, version: INTERFACE_VERSION, baseUrl }
    const document = make(DEFINITIONS, options)
    await nextTurn()
    return compressed(JSON.stringify(document))
  }
  let builtIn: Promise<Representations> | undefined
  let stored: object | undefined
  /** By base URL, the one used last at the end. */
  const kept = new Map<string, Promise<Representations>>()
  const configured = async (baseUrl: string) => {
    const all = await Promise.all(
      [...DEFINITIONS.values()].map(async (each) => [each.name, await fields.of(each)] as const),
    )
    return documentFor(baseUrl, new Map(all))
  }
  return async (request, reply) => {
    if (!(await isAuthenticated(request, reply))) {
      builtIn ??= documentFor(`http://127.0.0.1:${port}`, BUILT_IN).catch((error: unknown) => {
        builtIn = undefined
        throw error
      })
      return builtIn
    }
    const now = await fields.stored()
    if (now !== stored) kept.clear()
    stored = now
    const baseUrl = `${request.protocol}://${request.host}`
    const made = kept.get(baseUrl) ?? configured(baseUrl)
    kept.delete(baseUrl)
    kept.set(baseUrl, made)
    if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value ?? '')
    // An error is not kept.
    made.catch(() => kept.get(baseUrl) === made && kept.delete(baseUrl))
    return made
  }
}

type Fields = readonly FieldDefinition[]

const BUILT_IN: ReadonlyMap<string, Fields> = new Map(
  [...DEFINITIONS.values()].map((each) => [each.name, fieldsOf(each, NOTHING_STORED)]),
)
