/** Parses the parameters of `/api/settings`. */
import { isTrialIn } from '../../entities/trial.ts'
import { EntityRuleError, RequestError } from '../../requests/errors.ts'
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
export function settingsRequestOf(sent: RawParameters, isJson: boolean): SettingsRequest {
  const action = textOf(sent, 'action') || 'get'
  const actions = [...READS, ...WRITES]
  const known = actions.find((each) => each === action)
  if (known === undefined) {
    throw new EntityRuleError(
      `action must be one of ${actions.join(', ')}, is '${truncatedName(action)}'`,
    )
  }
  const address = {
    category: textOf(sent, 'category'),
    path: textOf(sent, 'path'),
    rev: revOf(sent.get('rev')),
  }
  const data = dataOf(sent.get('data'), isJson)
  return { action: known, address, data, isTrial: isTrialIn(sent) }
}

/** Empty if it was not sent. */
function textOf(sent: RawParameters, name: string): string {
  const value = sent.get(name) ?? ''
  if (typeof value === 'string') return value
  throw new EntityRuleError(`${name} must be a text`)
}

function revOf(sent: unknown): number | null {
  if (sent === undefined || sent === null || sent === '') return null
  const rev = typeof sent === 'string' && /^\d{1,16}$/.test(sent) ? Number(sent) : sent
  if (typeof rev === 'number' && Number.isSafeInteger(rev) && rev >= 0) return rev
  throw new EntityRuleError('rev must be an integer from 0 to 2^53')
}

function dataOf(sent: unknown, isJson: boolean): unknown {
  if (isJson || typeof sent !== 'string') return sent
  return sent === '' ? undefined : parseJson(sent, 'data')
}

/** Throws `RequestError` if a write is sent by GET or HEAD. */
export function refuseByGet(method: string, { action }: SettingsRequest): void {
  if (method !== 'POST' && isWrite(action)) {
    throw new RequestError(405, `${action} must be sent by POST`)
  }
}
