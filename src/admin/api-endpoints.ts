/** Endpoints that serve the API description, which `api-pages.ts` makes. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { anyValue, object, text } from '../catalog/entities/json-schema.ts'
import { type Representations, sendKept } from './encodings.ts'
import { INTERFACE_VERSION } from './heartbeat.ts'
import { named } from './http/answer-schema.ts'
import { ADMITTED, get } from './http/endpoint.ts'

export type DocumentOf = (request: FastifyRequest, reply: FastifyReply) => Promise<Representations>

export interface ApiDocuments {
  readonly documentOf: DocumentOf
  /** The document of the charging port. */
  charging(): Representations
}

/**
 * The page runs scripts of this server only, and sends requests to no other. Scalar adds style
 * elements, and draws icons from `data:` addresses: neither can run code or load anything.
 */
export const API_PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const HEADERS = { 'cache-control': 'private, no-cache' }
const JSON_TYPE = 'application/json; charset=utf-8'
const OTHERS = { ...ADMITTED, '503': 'unavailable' } as const

const DESCRIPTION = named('apiDescription', {
  ...object('An OpenAPI 3.1 document.', { openapi: text('Always `3.1.0`.') }, ['openapi']),
  additionalProperties: anyValue('A member of the document.'),
})

const json = get('/openapi.json', {
  access: 'user',
  openPath: 'docs',
  about: 'API description (OpenAPI)',
  answer: {
    description: 'This document.',
    schema: DESCRIPTION,
    example: {
      openapi: '3.1.0',
      info: { title: 'Tollgate entity API', version: INTERFACE_VERSION },
    },
    others: OTHERS,
  },
  async run({ documentOf }: ApiDocuments, request, reply) {
    const made = await documentOf(request, reply)
    return sendKept(request, reply.headers(HEADERS).type(JSON_TYPE), made)
  },
})

/** Public like `/docs`, if that is: the formats are the same in all installations. */
const charging = get('/openapi/realtime.json', {
  access: 'user',
  openPath: 'docs',
  about: 'API description of the charging port (OpenAPI)',
  answer: {
    description: 'The description of the charging port.',
    schema: DESCRIPTION,
    example: { openapi: '3.1.0', info: { title: 'Tollgate charging', version: INTERFACE_VERSION } },
    others: ADMITTED,
  },
  async run(documents: ApiDocuments, request, reply) {
    reply.headers(HEADERS).type(JSON_TYPE)
    return sendKept(request, reply, documents.charging())
  },
})

/** The page that the build has made. */
export const API_PAGE_ENDPOINT = get('/docs', {
  access: 'user',
  openPath: 'docs',
  about: 'API description as a page, with a search',
  answer: {
    description: 'A page that reads both documents and shows them.',
    schema: text('An HTML page.'),
    example: '<!doctype html>',
    type: 'text/html',
    others: ADMITTED,
  },
  async run(page: Representations, request, reply) {
    reply.headers(HEADERS).type('text/html; charset=utf-8')
    return sendKept(request, reply.header('content-security-policy', API_PAGE_POLICY), page)
  },
})

export const API_DOCUMENT_ENDPOINTS = [json, charging]
