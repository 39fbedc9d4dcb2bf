import type { ParserSettings } from '../../../src/file-types/file-type.ts'
import { compileResponse } from '../../../src/file-types/response.ts'
import { settings } from './answers.ts'

export const json: ParserSettings = { type: 'json' }
export const lines: ParserSettings = {
  type: 'key_value',
  pairSeparator: '\n',
  valueSeparator: ':',
  quoting: 'none',
  repeated: 'list',
}

export interface Given {
  parser?: ParserSettings
  hasServices?: boolean
  realtime?: Record<string, unknown>
}

export function compile(
  section: unknown,
  { parser = json, hasServices = false, realtime = {} }: Given = {},
) {
  const options = { path: 'response', parser, hasServices, defaults: settings, realtime }
  return compileResponse(section, options)
}

export const field = (name: string, row: unknown, more = {}) => ({
  response_field_name: name,
  row_field_name: row,
  ...more,
})
export const constant = (name: string, value: unknown, more = {}) => ({
  response_field_name: name,
  constant: value,
  ...more,
})
