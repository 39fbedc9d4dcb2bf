/** The OpenAPI documents of an installation without fields of its own, by file name. */
import { chargingDocument } from '../src/admin/openapi/charging.ts'
import { openApiDocument } from '../src/admin/openapi/document.ts'
import { loadConfig } from '../src/config/load.ts'
import { DEFINITIONS } from '../src/entities/definitions/collections.ts'
import { DEFAULT_FIELDS } from '../src/entities/fields/defaults.ts'

export const DOCUMENTS = {
  api: openApiDocument(DEFINITIONS, {
    fields: new Map(Object.entries(DEFAULT_FIELDS)),
    version: '',
    baseUrl: 'http://127.0.0.1',
  }),
  charging: chargingDocument(loadConfig({ env: {} }), ''),
}
