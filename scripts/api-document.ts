/** The OpenAPI document of an installation without fields of its own. */
import { openApiDocument } from '../src/admin/openapi/document.ts'
import { DEFINITIONS } from '../src/entities/definitions/collections.ts'

export const DOCUMENT = openApiDocument(DEFINITIONS, {
  fields: new Map(),
  version: '',
  baseUrl: 'http://127.0.0.1',
})
