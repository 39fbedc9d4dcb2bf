/** Parses the parameters of `/api/settings`. */
import { isTrialIn } from '../../entities/trial.ts'
import { fieldRule, RequestError } from '../../requests/errors.ts'
import { parseJson } from '../../requests/json-text.ts'
import { truncatedName } from '../../requests/problems.ts'
import type { RawParameters } from '../../requests/raw-parameters.ts'
import type { SettingAddress } from './settings.ts'

export const READS = ['get', 'list', 'history'] as const
const WRITES = ['set', 'unset', 'restore'] as const

export type SettingsAction = (typeof READS)[number] | (typeof WRITES)[number]

export interface SettingsRequest {
  readonly action: SettingsAction
  readonly address: SettingAddress
  /** Parsed `data`; undefined if it was not sent. */
  readonly data: unknown
  /** `validate`: a change is checked, and not stored. */
  readonly isTrial: boolean
}

/** Whether the action writes. */
export function isWrite(action: SettingsAction): boolean {
  return WRITES.some((each) => each === action)
}

/**
 * `isJson`: the parameters come from a JSON body, where `data` is already a value; in a form it is
 * JSON text. Throws `EntityRuleError`.
 */
export function settingsRequestOf(raw: RawParameters, isJson: boolean): SettingsRequest {
  const action = textOf(raw, 'action') || 'get'
  const actions = [...READS, ...WRITES]
  const known = actions.find((each) => each === action)
  if (known === undefined) {
    throw fieldRule('action', `must be one of ${actions.join(', ')}, is '${truncatedName(action)}'`)
  }
  const address = {
    category: textOf(raw, 'category'),
    path: textOf(raw, 'path'),
    rev: revOf(raw.get('rev')),
  }
  const data = dataOf(raw.get('data'), isJson)
  return { action: known, address, data, isTrial: isTrialIn(raw) }
}

/** Empty if it was not sent. */
function textOf(raw: RawParameters, name: string): string {
  const value = raw.get(name) ?? ''
  if (typeof value === 'string') return value
  throw fieldRule(name, 'must be a text')
}

function revOf(value: unknown): number | null {
  if (value === undefined || value === null || value === '') return null
  const rev = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
  if (typeof rev === 'number' && Number.isSafeInteger(rev) && rev >= 0) return rev
  throw fieldRule('rev', 'must be an integer from 0 to 2^53')
}

function dataOf(value: unknown, isJson: boolean): unknown {
  if (isJson || typeof value !== 'string') return value
  return value === '' ? undefined : parseJson(value, 'data')
}

/** Throws `RequestError` if a write is sent by GET or HEAD. */
export function refuseByGet(method: string, { action }: SettingsRequest): void {
  if (method !== 'POST' && isWrite(action)) {
    throw new RequestError(405, `${action} must be sent by POST`)
  }
}
