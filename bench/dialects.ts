/** The measured message formats: plain JSON, and one file type for each syntax. */

import { loadConfig } from '../src/config/load.ts'
import { builtInFileTypes } from '../src/file-types/built-in.ts'
import { compileFileType } from '../src/file-types/compile.ts'
import { fileTypeDefaultsOf } from '../src/file-types/defaults.ts'
import type { Codec, DecodeContext } from '../src/realtime/codecs/codec.ts'
import { codecOf } from '../src/realtime/codecs/codec-of.ts'
import { createJsonCodec } from '../src/realtime/codecs/json/codec.ts'
import { diameterOf } from './diameter-text.ts'
import { FIRST_MS, type Size, type UpdateMessage } from './messages.ts'
import { xmlOf } from './xml-text.ts'

const defaults = fileTypeDefaultsOf(loadConfig({ env: {} }))

export const CONTEXT: DecodeContext = {
  origin: 'bench',
  nowMs: FIRST_MS,
  servicesMax: 32,
  zone: 'UTC',
  eventAgeMsMax: 90 * 86_400_000,
  eventFutureMsMax: 86_400_000,
  keptFields: [],
  identifyingFields: [],
  identifies: () => false,
}

export interface Dialect {
  name: string
  codec: Codec<unknown>
  bodyOf: (message: UpdateMessage) => string
  /** True if its messages are JSON; others are compared with those of plain JSON. */
  isJson: boolean
  /** The maximum cost as a multiple of JSON.parse and JSON.stringify, or of plain JSON. */
  goal: { ratio: number; of: 'json' | 'plain' } | null
}

/** A codec of any envelope: each codec only receives envelopes that it has returned. */
const any = <Envelope>(codec: Codec<Envelope>) => codec as Codec<unknown>

export const PLAIN: Dialect = {
  name: 'json',
  codec: any(createJsonCodec(defaults.answers)),
  bodyOf: (message) => JSON.stringify(message),
  isJson: true,
  goal: { ratio: 1.5, of: 'json' },
}

/** Plain JSON as a file type: the same fields, mapped. */
function mapped(parser: Readonly<Record<string, unknown>>, size: Size): Codec<unknown> {
  const mapping = {
    src_field: 'usaget',
    pattern: 'data',
    usaget: 'data',
    unit: 'byte',
    volume_type: 'field',
    volume_src: ['usagev'],
    rating_group_field: 'rating_group',
  }
  const services = size === 200 ? {} : { services_field: 'services' }
  const document = {
    file_type: 'bench',
    parser,
    processor: { type: 'Realtime', date_field: 'urt', usaget_mapping: [mapping] },
    realtime: { used_usagev_field: 'used_usagev', ...services },
  }
  return any(codecOf(compileFileType(document, defaults)))
}

export function dialectsOf(size: Size): readonly Dialect[] {
  const { bodyOf } = PLAIN
  return [
    PLAIN,
    {
      name: 'json_mapped',
      codec: mapped({ type: 'json' }, size),
      bodyOf,
      isJson: true,
      goal: { ratio: 2.5, of: 'json' },
    },
    {
      name: 'key_value',
      codec: mapped({ type: 'key_value' }, size),
      bodyOf: (message) => pairsOf(message, '').join('&'),
      isJson: false,
      goal: { ratio: 1.5, of: 'plain' },
    },
    {
      name: 'xml',
      codec: mapped({ type: 'xml' }, size),
      bodyOf: (message) => xmlOf('request', message),
      isJson: false,
      goal: null,
    },
    {
      name: 'diameter',
      codec: any(codecOf(compileFileType(builtInFileTypes().get('diameter'), defaults))),
      bodyOf: diameterOf,
      isJson: true,
      goal: null,
    },
  ]
}

/** As forms encode it; nested values are written as dotted paths. */
function pairsOf(value: unknown, path: string): readonly string[] {
  if (typeof value !== 'object' || value === null) {
    return [`${path}=${encodeURIComponent(String(value))}`]
  }
  const prefix = path === '' ? '' : `${path}.`
  return Object.entries(value).flatMap(([key, member]) => pairsOf(member, `${prefix}${key}`))
}
