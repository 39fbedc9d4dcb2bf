/** File types for tests: a small document to change, and the requests that it maps. */
import { type Reason, reasons } from '../../../src/domain/charge-outcome.ts'
import type { ChargeRequest, ServiceRequest } from '../../../src/domain/charge-request.ts'
import { FieldError } from '../../../src/domain/fields.ts'
import { compileFileType } from '../../../src/file-types/compile.ts'
import type {
  FileTypeDefaults,
  MapContext,
  MappedRequest,
  Message,
} from '../../../src/file-types/file-type.ts'

export type Fields = Record<string, unknown>

const returnCodes = Object.fromEntries(
  Object.entries(reasons).map(([reason, { code }]) => [reason, code]),
) as Record<Reason, number>

export const DEFAULTS: FileTypeDefaults = {
  answers: {
    quotaHoldingMs: 0,
    thresholdPercent: 0,
    finalUnit: { action: 'none' },
    currencyCode: 999,
    returnCodes,
  },
  timeZone: 'UTC',
  countryPrefix: '49',
  recordAgeMonthsMax: 3,
  rules: { rateCalculators: {}, customerIdentification: {} },
}

export const NOW_MS = Date.UTC(2026, 4, 4, 12)
const YEAR_MS = 366 * 86_400_000

export const CONTEXT: MapContext = {
  origin: 'gateway',
  nowMs: NOW_MS,
  servicesMax: 4,
  eventAgeMsMax: YEAR_MS,
  eventFutureMsMax: YEAR_MS,
  bodyDigest: () => 'd1ge57',
}

export const MAPPING = { usaget: 'data', volume_type: 'field', volume_src: ['want'] }
export const PROCESSOR = { usaget_mapping: [MAPPING] }
export const REALTIME = { used_usagev_field: 'spent' }

/** The smallest valid document; `changes` replace whole sections. */
export function documentWith(changes: Fields = {}): Fields {
  return {
    file_type: 'T',
    parser: { type: 'json' },
    processor: PROCESSOR,
    realtime: REALTIME,
    ...changes,
  }
}

export function withRealtime(changes: Fields, more: Fields = {}): Fields {
  return documentWith({ realtime: { ...REALTIME, ...changes }, ...more })
}

export function withMapping(changes: Fields, more: Fields = {}): Fields {
  return documentWith({ processor: { usaget_mapping: [{ ...MAPPING, ...changes }] }, ...more })
}

/** A start that this file type accepts. */
export const START = { record_type: 'start_request', session_id: 's1', sid: 7, want: 10 }

export function result(document: Fields, message: Message, context = CONTEXT, given = DEFAULTS) {
  return compileFileType(document, given).map(message, context)
}

/** Throws if the message is refused. */
export function mapped(document: Fields, message: Message, given = DEFAULTS): MappedRequest {
  const found = result(document, message, CONTEXT, given)
  if ('why' in found) throw new Error(`${found.field} ${found.why}`)
  return found
}

export function requestOf(document: Fields, message: Message, given = DEFAULTS): ChargeRequest {
  const { request } = mapped(document, message, given)
  if (request === null) throw new Error('nothing to charge')
  return request
}

/** The only service of the request. */
export function serviceOf(document: Fields, message: Message): ServiceRequest {
  const { services } = requestOf(document, message)
  const [service] = services
  if (service === undefined || services.length > 1) throw new Error(`${services.length} services`)
  return service
}

/** `field why` of a refused message; empty if it is accepted. */
export function problemOf(document: Fields, message: Message): string {
  const found = result(document, message)
  return 'why' in found ? `${found.field} ${found.why}` : ''
}

/** `path reason` of a refused document; empty if it is accepted. */
export function refusalOf(document: unknown): string {
  return refusal(() => compileFileType(document, DEFAULTS))
}

export function refusal(compile: () => unknown): string {
  try {
    compile()
    return ''
  } catch (error) {
    if (error instanceof FieldError) return error.message
    throw error
  }
}
