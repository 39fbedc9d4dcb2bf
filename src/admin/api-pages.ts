/** API description: `/openapi.json` for programs, `/docs` for people. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { FIELD_CATEGORIES, type FieldSettings } from '../catalog/settings/stored-config.ts'
import type { Logger } from '../runtime/log.ts'
import type { RouteAccess } from './auth/access.ts'
import { errorHandler } from './entities/answer.ts'
import type { EntityApi } from './entities/api.ts'
import { DEFINITIONS } from './entities/definitions/collections.ts'
import { fieldsOf } from './entities/fields/configured.ts'
import type { FieldDefinition } from './entities/fields/field-definition.ts'
import { openApiDocument } from './entities/openapi/document.ts'
import { apiPage } from './entities/openapi/page.ts'
import { INTERFACE_VERSION } from './heartbeat.ts'

/** The page loads no resources and runs no scripts; its style is inline. */
const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"

/**
 * The document is generated for each request because configured fields may change. If they cannot
 * be read or compiled, the request fails with that error. An unauthenticated client sees only the
 * built-in fields.
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
  readonly fields: EntityApi['fields']
  readonly access: RouteAccess
  /** Whether the caller is authenticated and may see the configured fields. */
  isAuthenticated(request: FastifyRequest, reply: FastifyReply): Promise<boolean>
}

const NOTHING_STORED = Object.fromEntries(
  FIELD_CATEGORIES.map((category) => [category, {}]),
) as FieldSettings

function addPages(server: FastifyInstance, { fields, access, isAuthenticated }: ApiPages): void {
  const config = { access, readsByGet: true } as const
  const document = async (request: FastifyRequest, reply: FastifyReply) => {
    const byCollection = new Map<string, readonly FieldDefinition[]>()
    const isShown = await isAuthenticated(request, reply)
    for (const definition of DEFINITIONS.values()) {
      const shown = isShown ? await fields.of(definition) : fieldsOf(definition, NOTHING_STORED)
      byCollection.set(definition.name, shown)
    }
    const baseUrl = `${request.protocol}://${request.host}`
    return openApiDocument(DEFINITIONS, {
      fields: byCollection,
      version: INTERFACE_VERSION,
      baseUrl,
    })
  }
  server.get('/openapi.json', { config }, async (request, reply) => document(request, reply))
  server.get('/docs', { config }, async (request, reply) =>
    reply
      .header('content-security-policy', PAGE_POLICY)
      .type('text/html; charset=utf-8')
      .send(apiPage(await document(request, reply))),
  )
}
