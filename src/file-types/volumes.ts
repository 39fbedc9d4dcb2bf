/** Requested, default and used volumes of a service in base units. */
import type { RequestKind } from '../domain/charge-request.ts'
import { FieldError, type Fields, isUnset, objectAt, oneOfAt } from '../domain/fields.ts'
import type { DecodeErrors } from './decode-errors.ts'
import type { Scope } from './paths.ts'
import type { LocatedValue, RealtimeSection } from './realtime-section.ts'
import { beforeChangeAt, usedTermAt } from './tariff-change.ts'
import { toBaseUnits } from './units.ts'
import { termAt } from './volume-terms.ts'

/** Base units; -1 if any of the fields is absent. */
export type VolumeReader = (scope: Scope, errors: DecodeErrors) => number

export interface Volume {
  readonly read: VolumeReader
  /** First field, for errors. */
  readonly name: string
}

/** `type` and `source`: `volume_type` and `volume_src` of a mapping. Throws `FieldError`. */
export function compileRequested(type: LocatedValue, source: LocatedValue, unit: string): Volume {
  const kind = isUnset(type.value) ? 'field' : oneOfAt(type.value, type.path, ['field', 'value'])
  if (isUnset(source.value)) throw new FieldError(source.path, 'is missing')
  if (kind === 'field') return termAt(source.value, source.path, unit, false)
  const list: readonly unknown[] = Array.isArray(source.value) ? source.value : [source.value]
  const constant = toBaseUnits(list.length === 1 ? list[0] : undefined, unit)
  if (typeof constant === 'string') throw new FieldError(source.path, constant)
  return { read: () => constant, name: '' }
}

/** The volume of a mapping without a field for requested units. */
export const NEVER_REQUESTED: Volume = { read: () => -1, name: 'usagev' }

export interface UsedVolume extends Volume {
  /** Units used before a tariff change; null if messages never say. */
  readonly before: VolumeReader | null
}

/** Compiles `used_usagev_field`: the sum of the present fields, -1 if all are absent. */
export function compileUsed({ value, path }: LocatedValue, unit: string): UsedVolume {
  if (isUnset(value)) return { read: () => -1, name: 'used_usagev', before: null }
  const { read, name } = usedTermAt(value, path, unit)
  return { read, name, before: beforeChangeAt(value, path, unit) }
}

/** Keys of `default_values` by request kind: the current and the older name. */
const DEFAULT_KEYS: Readonly<Record<RequestKind, readonly string[]>> = {
  start: ['start_request', 'initial_request'],
  update: ['update_request'],
  release: ['release_request', 'final_request'],
  event: ['event_request', 'postpay_charge_request'],
}
const ANY = 'default'
const KNOWN_KEYS = [...Object.values(DEFAULT_KEYS).flat(), ANY]

/** Default of requested units, base units; -1 for none. */
export type DefaultVolumes = Readonly<Record<RequestKind, number>>

export const NO_DEFAULTS: DefaultVolumes = { start: -1, update: -1, release: -1, event: -1 }

/** Compiles `default_values` of a usage type. Throws `FieldError`. */
export function compileDefaults(section: RealtimeSection, usaget: string): DefaultVolumes {
  const key = 'default_values'
  const sections = [section.of(usaget, key), section.general(key)].filter(
    ({ value }) => !isUnset(value),
  )
  const tables = sections.map(({ value, path }) => ({
    fields: objectAt(value, path, KNOWN_KEYS),
    path,
  }))
  const find = (keys: readonly string[]): number => {
    for (const { fields, path } of tables) {
      for (const each of keys) {
        if (!isUnset(fields[each])) return defaultAt(fields, each, path)
      }
    }
    return -1
  }
  const fixedFor = (kind: RequestKind): number => {
    const own = find(DEFAULT_KEYS[kind])
    return own < 0 ? find([ANY]) : own
  }
  return {
    start: fixedFor('start'),
    update: fixedFor('update'),
    release: fixedFor('release'),
    event: fixedFor('event'),
  }
}

function defaultAt(fields: Fields, key: string, path: string): number {
  const value = fields[key]
  const units = toBaseUnits(value, 'counter')
  if (typeof units === 'number' && Number(value) === units) return units
  throw new FieldError(`${path}.${key}`, 'must be whole base units, from 0 to 2^53 - 1')
}
