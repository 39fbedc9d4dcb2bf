/** Explains how a file type reads the records of a file (`tollgate filetype check`). */
import type { ChargeRequest } from '../../domain/charge-request.ts'
import { type Fields, isObject } from '../../domain/fields.ts'
import type { CheckReport, CheckStep } from '../check-report.ts'
import { explainRequest, mappingOf, valuesOf } from '../explain.ts'
import type { FileTypeDefaults, Message } from '../file-type.ts'
import { compilePath, type Scope } from '../paths.ts'
import { compileMappings, type UsageRule } from '../usage.ts'
import { openRecordReader } from './reader.ts'
import { digestOf, type FileRecord, type RecordFileType } from './record-files.ts'

/** Records that are shown; the others are counted. */
const SHOWN_MAX = 20

/** `document` is that of the file type; its steps are `records.N` by the number of the line. */
export function explainRecords(
  fileType: RecordFileType,
  document: unknown,
  file: Buffer,
  nowMs: number,
  defaults: FileTypeDefaults,
): CheckReport {
  const reader = openRecordReader(fileType)
  const records = [...reader.push(file), ...reader.end()]
  const { name, type, parser, isEnabled } = fileType
  const accepted = { file_type: name, type, parser: parser.type, enabled: isEnabled }
  const steps: CheckStep[] = [
    { step: 'document', ok: true, result: accepted },
    ...records.slice(0, SHOWN_MAX).map((record) => {
      const { ok, result } = explainRecord(fileType, document, record, nowMs, defaults)
      return { step: `records.${record.line}`, ok, result: { text: record.text, ...result } }
    }),
    fileStep(records),
  ]
  return { ok: steps.every(({ ok }) => ok), steps }
}

/** Fails for an unreadable record that is not shown. */
function fileStep(records: readonly FileRecord[]): CheckStep {
  const lines = records.filter(({ problem }) => problem !== null).map(({ line }) => line)
  const { records: count = 0 } = records.at(-1)?.next ?? {}
  const result = {
    records: count,
    shown: Math.min(records.length, SHOWN_MAX),
    unreadable: lines.slice(0, SHOWN_MAX),
  }
  return { step: 'file', ok: lines.length === 0, result }
}

type Explanation = Pick<CheckStep, 'ok'> & { readonly result: object }

function explainRecord(
  fileType: RecordFileType,
  document: unknown,
  record: FileRecord,
  nowMs: number,
  defaults: FileTypeDefaults,
): Explanation {
  const { message, problem, isControl } = record
  if (problem !== null) return { ok: false, result: problem }
  if (isControl || message === null) return { ok: true, result: { control: true } }
  const read = fieldsRead(document, message)
  const context = {
    origin: 'check',
    nowMs,
    eventFutureMsMax: Number.MAX_SAFE_INTEGER,
    bodyDigest: () => digestOf(record),
  }
  const mapped = fileType.map(message, context)
  if ('why' in mapped) return { ok: false, result: { ...read, ...mapped } }
  const { request } = mapped
  if (request === null) return { ok: true, result: { ...read, request: EXCLUDED } }
  const steps = explainRequest(document, request, defaults)
  const found = Object.fromEntries(steps.map(({ step, result }) => [step, result]))
  return { ok: true, result: { ...read, ...found, request: requestView(request) } }
}

/** The columns, the mappings that apply, and the fields of volumes and of the event time. */
function fieldsRead(document: unknown, message: Message): object {
  const processor = (document as { processor: Fields }).processor
  const rules = compileMappings(processor, 'processor').recordRules()
  const dates = ['date_field', 'time_field', 'timezone_field'].map((key) => processor[key])
  const eventTime = valuesOf(dates, message)
  const read = { columns: message, event_time: eventTime }
  const list = processor['services_field']
  const members = typeof list === 'string' ? compilePath(list)?.in(message) : undefined
  const usedBy = (entry: Message) => usageRead(processor, rules, { entry, message })
  if (members === undefined) return { ...read, ...usedBy(message) }
  const entries = (Array.isArray(members) ? members : [members]).filter(isObject)
  return { ...read, services: entries.slice(0, SHOWN_MAX).map(usedBy) }
}

function usageRead(processor: Fields, rules: readonly UsageRule[], scope: Scope): object {
  const at = rules.findIndex((rule) => rule.matches(scope))
  const rule = rules[at]
  if (rule === undefined) return { mapping: null }
  const { name, unit, type, source } = mappingOf(processor, rule, at)
  if (type === 'value') return { mapping: name, unit, used: { constant: source } }
  return { mapping: name, unit, used: { fields: valuesOf(source, scope.entry, scope.message) } }
}

/** Shown in place of the request of a message or a record. */
export const EXCLUDED = 'is not charged: filters exclude all of its services'

export function requestView(request: ChargeRequest): object {
  return { ...request, eventTime: new Date(request.eventTimeMs).toISOString() }
}
