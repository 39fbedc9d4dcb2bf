/** The description of the API: `/openapi.json` for programs, `/docs` for people. */
import type { FastifyInstance } from 'fastify'
import type { Logger } from '../runtime/log.ts'
import { errorHandler } from './entities/answer.ts'
import type { EntityApi } from './entities/api.ts'
import { DEFINITIONS } from './entities/definitions/collections.ts'
import type { FieldDefinition } from './entities/field-definition.ts'
import { openApiDocument } from './entities/openapi/document.ts'
import { apiPage } from './entities/openapi/page.ts'
import { INTERFACE_VERSION } from './heartbeat.ts'

/** Nothing is loaded and nothing runs in the page; its style is its own. */
const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"

/**
 * Made anew each time: configured fields may have changed. Where these cannot be read or used, that
 * is the answer.
 */
export function addApiPages(
  server: FastifyInstance,
  { fields }: Pick<EntityApi, 'fields'>,
  log: Pick<Logger, 'error'>,
): void {
  server.register(async (routes) => {
    routes.setErrorHandler(errorHandler(log))
    addPages(routes, fields)
  })
}

function addPages(server: FastifyInstance, fields: EntityApi['fields']): void {
  const document = async () => {
    const byCollection = new Map<string, readonly FieldDefinition[]>()
    for (const definition of DEFINITIONS.values()) {
      byCollection.set(definition.name, await fields.of(definition))
    }
    return openApiDocument(DEFINITIONS, byCollection, INTERFACE_VERSION)
  }
  server.get('/openapi.json', async () => document())
  server.get('/docs', async (request, reply) =>
    reply
      .header('content-security-policy', PAGE_POLICY)
      .type('text/html; charset=utf-8')
      .send(apiPage(await document(), `${request.protocol}://${request.host}`)),
  )
}
