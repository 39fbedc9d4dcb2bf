import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { compileFileType } from '../../../../../src/file-types/compile.ts'
import type { FileType } from '../../../../../src/file-types/file-type.ts'
import { builtInReturnCodes } from '../../../../../src/file-types/return-codes.ts'
import { codecOf } from '../../../../../src/realtime/codecs/codec-of.ts'
import { DECODE_CONTEXT } from '../settings.ts'

const BUILT_IN = new URL('../../../../../config/file-types/diameter.yaml', import.meta.url)

export type Document = Record<string, unknown> & { realtime: Record<string, unknown> }

/** The built-in document. */
export function builtIn(): Document {
  return parse(readFileSync(BUILT_IN, 'utf8')) as Document
}

export function fileTypeOf(document: Document): FileType {
  return compileFileType(document, {
    answers: {
      quotaHoldingMs: 0,
      thresholdPercent: 0,
      finalUnit: { action: 'terminate' },
      currencyCode: 999,
      returnCodes: builtInReturnCodes,
    },
    timeZone: 'UTC',
    countryPrefix: '972',
    recordAgeMonthsMax: 3,
    rules: { rateCalculators: {}, customerIdentification: {} },
  })
}

export function formatOf(document: Document) {
  return codecOf(fileTypeOf(document))
}

export const context = { ...DECODE_CONTEXT, origin: 'pgw' }
