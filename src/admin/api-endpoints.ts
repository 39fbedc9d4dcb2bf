/** Endpoints that serve the API description, which `api-pages.ts` makes. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { anyValue, object, text } from '../catalog/entities/json-schema.ts'
import { type Representations, sendKept } from './encodings.ts'
import { INTERFACE_VERSION } from './heartbeat.ts'
import { named } from './http/answer-schema.ts'
import { ADMITTED, get } from './http/endpoint.ts'

/** Both forms of one document. */
export interface MadeDocument {
  readonly json: Representations
  readonly page: Representations
}

export type DocumentOf = (request: FastifyRequest, reply: FastifyReply) => Promise<MadeDocument>

export interface ApiDocuments {
  readonly documentOf: DocumentOf
  /** The document of the charging port. */
  charging(): Representations
}

/** The page loads no resources and runs no scripts; its style is inline. */
const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"

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
    reply.headers(HEADERS).type(JSON_TYPE)
    return sendKept(request, reply, made.json)
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

const page = get('/docs', {
  access: 'user',
  openPath: 'docs',
  about: 'API description as a page',
  answer: {
    description: 'This document as a page.',
    schema: text('An HTML page.'),
    example: '<!doctype html>',
    type: 'text/html',
    others: OTHERS,
  },
  async run({ documentOf }: ApiDocuments, request, reply) {
    const made = await documentOf(request, reply)
    reply.headers(HEADERS).type('text/html; charset=utf-8')
    return sendKept(request, reply.header('content-security-policy', PAGE_POLICY), made.page)
  },
})

export const API_PAGE_ENDPOINTS = [json, charging, page]
