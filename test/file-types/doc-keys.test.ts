/** docs/FILE-TYPES.md: its tables list all keys that documents may have, and no other. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { answerFields, answerMethods } from '../../src/file-types/answer-fields.ts'
import { answerSettingKeys, FINAL_UNIT_KEYS } from '../../src/file-types/answer-settings.ts'
import { FILE_TYPE_KEYS, PARSER_KEYS, PROCESSOR_KEYS } from '../../src/file-types/compile.ts'
import { OPERATORS } from '../../src/file-types/conditions.ts'
import { DATE_KEYS } from '../../src/file-types/dates.ts'
import { KEY_VALUE_KEYS } from '../../src/file-types/key-value-syntax.ts'
import { REALTIME_KEYS } from '../../src/file-types/realtime-section.ts'
import { RECORD_PARSER_KEYS } from '../../src/file-types/records/syntax.ts'
import { RESPONSE_KEYS } from '../../src/file-types/response.ts'
import { RESPONSE_FIELD_KEYS } from '../../src/file-types/response-fields.ts'
import { RETURN_CODE_KEYS } from '../../src/file-types/return-codes.ts'
import { UNITS } from '../../src/file-types/units.ts'
import { MAPPING_KEYS } from '../../src/file-types/usage.ts'
import { RULE_KEYS } from '../../src/rating/identify.ts'
import { FILTER_KEYS } from '../../src/rating/match/calculators.ts'
import { COMPUTED_KEYS } from '../../src/rating/match/computed.ts'
import { DATE_PARTS } from '../../src/rating/match/date-part.ts'

const text = readFileSync(new URL('../../docs/FILE-TYPES.md', import.meta.url), 'utf8')
const sections = new Map(
  text.split(/^#{2,3} /m).map((section) => {
    const end = section.indexOf('\n')
    return [section.slice(0, end), section.slice(end)] as const
  }),
)

/** The text between backticks in a cell. */
function namesIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
}

/** The names in the first column of the tables of a section. */
function namesOfRows(title: string): Set<string> {
  const rows = (sections.get(title) ?? '').split('\n').filter((line) => line.startsWith('| '))
  return new Set(rows.flatMap((row) => namesIn(row.split('|')[1] ?? '')))
}

const processorOnly = PROCESSOR_KEYS.filter((key) => !DATE_KEYS.includes(key))
const tables: readonly (readonly [string, readonly string[]])[] = [
  ['The document', FILE_TYPE_KEYS],
  ['`parser`', [...PARSER_KEYS, ...KEY_VALUE_KEYS, 'separator']],
  ['`parser` of files', RECORD_PARSER_KEYS],
  ['Event time', DATE_KEYS],
  ['Usage types', [...MAPPING_KEYS, ...processorOnly]],
  ['Conditions', OPERATORS],
  ['Identification', RULE_KEYS],
  ['Rate calculators', [...FILTER_KEYS, ...COMPUTED_KEYS]],
  ['`realtime`', REALTIME_KEYS],
  ['`response`', [...RESPONSE_KEYS, ...KEY_VALUE_KEYS, 'root']],
  ['A field of an answer', RESPONSE_FIELD_KEYS],
  ['Row fields', Object.keys(answerFields)],
  ['Return codes', RETURN_CODE_KEYS],
  ['Holding time, threshold and final unit', answerSettingKeys],
]

describe('docs/FILE-TYPES.md', () => {
  it.each(tables)('%s: the table lists exactly the keys of the code', (title, keys) => {
    expect([...namesOfRows(title)].sort()).toEqual([...new Set(keys)].sort())
  })

  it('lists every part of a date', () => {
    const names = namesIn(sections.get('Rate calculators') ?? '')
    expect(DATE_PARTS.filter((part) => !names.includes(part))).toEqual([])
  })

  it('lists every unit', () => {
    const names = namesIn(sections.get('Units') ?? '')
    expect(UNITS.filter((unit) => !names.includes(unit))).toEqual([])
  })

  it('lists the keys of the parts of a key', () => {
    const final = sections.get('Holding time, threshold and final unit') ?? ''
    expect(FINAL_UNIT_KEYS.filter((key) => !final.includes(`"${key}"`))).toEqual([])
    const methods = namesIn(sections.get('A field of an answer') ?? '')
    expect(Object.keys(answerMethods).filter((name) => !methods.includes(name))).toEqual([])
  })
})
