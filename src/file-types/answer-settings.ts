/**
 * Settings of answers, from the section `realtime` of a file type: a setting of the usage type
 * takes precedence over a general one, and that over the installation's.
 */
import {
  arrayAt,
  FieldError,
  type Fields,
  isObject,
  isUnset,
  objectAt,
  oneOfAt,
  textAt,
} from '../domain/fields.ts'
import { microsFrom } from '../domain/money.ts'
import type { AnswerSettings, FinalUnitAction } from './file-type.ts'
import type { ReturnCodes } from './return-codes.ts'

const HOLDING = 'quota_holding_time'
const THRESHOLD = 'quota_threshold'
const FINAL_UNIT = 'final_unit'
const LOW_BALANCE = 'low_balance_threshold'

/** Keys read here, in `realtime` and in its sections of usage types. */
export const answerSettingKeys = [HOLDING, THRESHOLD, FINAL_UNIT, LOW_BALANCE] as const

/** Largest number of seconds in the protocol (32 bits). */
const HOLDING_SECONDS_MAX = 2 ** 32 - 1
export const FINAL_UNIT_ACTIONS = ['none', 'terminate', 'redirect', 'restrict'] as const
const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const IPV4 = new RegExp(`^${OCTET}(?:\\.${OCTET}){3}$`)
export const ADDRESS_TYPES = ['ipv4', 'ipv6', 'url', 'sip'] as const

/** Compiles settings by usage type. Throws `FieldError` with the path of an invalid value. */
export function compileAnswerSettings(
  realtime: Fields,
  path: string,
  defaults: AnswerSettings,
  returnCodes: ReturnCodes,
): (usaget: string) => AnswerSettings {
  const general = settingsOf(realtime, path, { ...defaults, returnCodes })
  const apart = new Map<string, AnswerSettings>()
  for (const [usaget, section] of Object.entries(realtime)) {
    if (!isObject(section)) continue
    if (!answerSettingKeys.some((key) => Object.hasOwn(section, key))) continue
    apart.set(usaget, settingsOf(section, `${path}.${usaget}`, general))
  }
  return apart.size === 0 ? () => general : (usaget) => apart.get(usaget) ?? general
}

function settingsOf(section: Fields, path: string, base: AnswerSettings): AnswerSettings {
  const holding = numberAt(section, HOLDING, path, HOLDING_SECONDS_MAX)
  const threshold = numberAt(section, THRESHOLD, path, 100)
  const finalUnit = Object.hasOwn(section, FINAL_UNIT) ? section[FINAL_UNIT] : undefined
  return {
    quotaHoldingMs: holding === null ? base.quotaHoldingMs : holding * 1000,
    thresholdPercent: threshold ?? base.thresholdPercent,
    finalUnit: isUnset(finalUnit)
      ? base.finalUnit
      : compileFinalUnit(finalUnit, `${path}.${FINAL_UNIT}`),
    currencyCode: base.currencyCode,
    lowBalanceMicros: moneyAt(section, LOW_BALANCE, path) ?? base.lowBalanceMicros,
    returnCodes: base.returnCodes,
  }
}

/** An integer from 0 to `max`; null if absent. */
function numberAt(section: Fields, key: string, path: string, max: number): number | null {
  const value = Object.hasOwn(section, key) ? section[key] : undefined
  if (isUnset(value)) return null
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max) {
    return value === 0 ? 0 : value
  }
  throw new FieldError(`${path}.${key}`, `must be a whole number from 0 to ${max}`)
}

/** Micros of an amount in the currency; null if absent. */
function moneyAt(section: Fields, key: string, path: string): number | null {
  const value = Object.hasOwn(section, key) ? section[key] : undefined
  if (isUnset(value)) return null
  const isScalar = typeof value === 'number' || typeof value === 'string'
  const micros = isScalar ? microsFrom(value) : null
  if (micros !== null && micros >= 0) return micros
  throw new FieldError(
    `${path}.${key}`,
    'must be an amount of money from 0 with at most 6 decimals',
  )
}

export const FINAL_UNIT_KEYS = ['action', 'address_type', 'address', 'filters']
const keysOfAction: Readonly<Record<(typeof FINAL_UNIT_ACTIONS)[number], readonly string[]>> = {
  none: [],
  terminate: [],
  redirect: ['address_type', 'address'],
  restrict: ['filters'],
}

function compileFinalUnit(document: unknown, path: string): FinalUnitAction {
  const section = objectAt(document, path, FINAL_UNIT_KEYS)
  const action = oneOfAt(section['action'], `${path}.action`, FINAL_UNIT_ACTIONS)
  for (const key of FINAL_UNIT_KEYS.slice(1)) {
    if (isUnset(section[key]) || keysOfAction[action].includes(key)) continue
    throw new FieldError(`${path}.${key}`, `does not apply to the action ${action}`)
  }
  if (action === 'redirect') return { action, ...redirectAddress(section, path) }
  if (action !== 'restrict') return { action }
  const at = `${path}.filters`
  const filters = arrayAt(section['filters'], at).map((filter, index) =>
    textAt(filter, `${at}.${index}`),
  )
  if (filters.length === 0) throw new FieldError(at, 'must have at least one filter')
  return { action, filters }
}

function redirectAddress(section: Fields, path: string) {
  const addressType = oneOfAt(section['address_type'], `${path}.address_type`, ADDRESS_TYPES)
  const address = textAt(section['address'], `${path}.address`)
  const isRight = {
    ipv4: (text: string) => IPV4.test(text),
    ipv6: (text: string) => /^[\da-f:.]+$/i.test(text) && URL.canParse(`http://[${text}]`),
    url: (text: string) => URL.canParse(text),
    sip: (text: string) => /^sips?:\S+$/i.test(text),
  }[addressType]
  if (isRight(address)) return { addressType, address }
  throw new FieldError(`${path}.address`, `is not an address of the type ${addressType}`)
}
