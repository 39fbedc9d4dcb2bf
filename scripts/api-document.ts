/** The OpenAPI document of an installation without fields of its own. */
import { DEFINITIONS } from '../src/admin/entities/definitions/collections.ts'
import { openApiDocument } from '../src/admin/entities/openapi/document.ts'

export const DOCUMENT = openApiDocument(DEFINITIONS, {
  fields: new Map(),
  version: '',
  baseUrl: 'http://127.0.0.1',
})
