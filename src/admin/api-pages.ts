/**
 * API description: `/openapi.json` for programs, `/docs` for people, and that of the charging port,
 * `/openapi/realtime.json`.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { FIELD_CATEGORIES, type FieldSettings } from '../catalog/settings/stored-config.ts'
import { DEFINITIONS } from '../entities/definitions/collections.ts'
import { fieldsOf } from '../entities/fields/configured.ts'
import type { CurrentFields } from '../entities/fields/current.ts'
import type { FieldDefinition } from '../entities/fields/field-definition.ts'
import type { RouteAccess } from '../identity/access.ts'
import type { Logger } from '../runtime/log.ts'
import { compressed, type Representations, sendKept } from './encodings.ts'
import { INTERFACE_VERSION } from './heartbeat.ts'
import { errorHandler } from './http/answer.ts'
import { type OpenApiDocument, openApiDocument } from './openapi/document.ts'
import { apiPage } from './openapi/page.ts'

/** The page loads no resources and runs no scripts; its style is inline. */
const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"

/**
 * The first two take a tenth of a second to make, so they are kept until the configured fields
 * change. If these cannot be read or compiled, the request fails with that error. An
 * unauthenticated client sees only the built-in fields, and no address of the node but loopback.
 */
export function addApiPages(
  server: FastifyInstance,
  pages: ApiPages,
  log: Pick<Logger, 'error'>,
): void {
  server.register(async (routes) => {
    routes.setErrorHandler(errorHandler(log))
    addPages(routes, pages)
  })
}

export interface ApiPages {
  readonly fields: CurrentFields
  readonly access: RouteAccess
  /** Port of the control plane, for the examples of unauthenticated clients. */
  readonly port: number
  /** Whether the caller is authenticated and may see the configured fields. */
  isAuthenticated(request: FastifyRequest, reply: FastifyReply): Promise<boolean>
  /** The document of the charging port. */
  readonly charging: () => OpenApiDocument
  /** `openApiDocument`, unless in tests. */
  readonly make?: typeof openApiDocument
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** Both forms of one document. */
interface Made {
  readonly json: Representations
  readonly page: Representations
}

/** Documents of authenticated callers that are kept, one per address by which they call. */
const KEPT_MAX = 4

const NOTHING_STORED = Object.fromEntries(
  FIELD_CATEGORIES.map((category) => [category, {}]),
) as FieldSettings

function addPages(server: FastifyInstance, pages: ApiPages): void {
  const config = { access: pages.access, readsByGet: true } as const
  const documentOf = createDocuments(pages)
  const headers = { 'cache-control': 'private, no-cache' }
  let charging: Representations | undefined
  server.get('/openapi.json', { config }, async (request, reply) => {
    const { json } = await documentOf(request, reply)
    reply.headers(headers).type(JSON_TYPE)
    return sendKept(request, reply, json)
  })
  server.get('/openapi/realtime.json', { config }, (request, reply) => {
    charging ??= compressed(JSON.stringify(pages.charging()))
    reply.headers(headers).type(JSON_TYPE)
    return sendKept(request, reply, charging)
  })
  server.get('/docs', { config }, async (request, reply) => {
    const { page } = await documentOf(request, reply)
    reply.headers(headers).type('text/html; charset=utf-8')
    return sendKept(request, reply.header('content-security-policy', PAGE_POLICY), page)
  })
}

function createDocuments({ fields, isAuthenticated, port, make = openApiDocument }: ApiPages) {
  // In several turns of the event loop, so that other requests do not wait for all of them.
  const documentFor = async (
    baseUrl: string,
    byCollection: ReadonlyMap<string, Fields>,
  ): Promise<Made> => {
    const options = { fields: byCollection, version: INTERFACE_VERSION, baseUrl }
    const document = make(DEFINITIONS, options)
    await nextTurn()
    const json = compressed(JSON.stringify(document))
    await nextTurn()
    return { json, page: compressed(apiPage(document)) }
  }
  let builtIn: Promise<Made> | undefined
  let stored: object | undefined
  /** By base URL, the one used last at the end. */
  const kept = new Map<string, Promise<Made>>()
  const configured = async (baseUrl: string) => {
    const all = await Promise.all(
      [...DEFINITIONS.values()].map(async (each) => [each.name, await fields.of(each)] as const),
    )
    return documentFor(baseUrl, new Map(all))
  }
  return async (request: FastifyRequest, reply: FastifyReply): Promise<Made> => {
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
