/** Answers and bodies of the authentication routes. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { about, issuesOf, type Wrong } from '../../domain/field-errors.ts'
import type { AttemptSource } from '../../identity/attempts.ts'
import type { Devices } from '../../identity/devices.ts'
import type { LoginInput } from '../../identity/login-fields.ts'
import { AuthRefusal } from '../../identity/refusal.ts'
import { answeredIssues } from '../../requests/errors.ts'
import { succeeded } from '../http/answer-schema.ts'
import { queryParameters, readParameters } from '../http/body.ts'
import { deviceCookieOf } from './cookies.ts'

export function success<const D>(details: D, input: LoginInput) {
  return { ...succeeded(details), input }
}

export function failure(desc: string, input: LoginInput, wrong: Wrong = 'refused') {
  const errors = answeredIssues(issuesOf(desc, wrong))
  return { status: 0, desc, details: false, input, errors } as const
}

/** Other answers of endpoints that compare a password or a code. */
const OTHERS = {
  '400': 'badLogin',
  '403': 'forbidden',
  '413': 'tooLarge',
  '429': 'tooMany',
  '503': 'loginUnavailable',
} as const
export const COMPARING = { refused: ['authError', 'ruleError'], others: OTHERS } as const

interface SourceDeps {
  readonly devices: Devices
  readonly addressOf: (request: FastifyRequest) => string
}

/** Source of a login: a device known for the account, or an address. */
export async function sourceOf(
  { devices, addressOf }: SourceDeps,
  request: FastifyRequest,
  account: string,
): Promise<AttemptSource> {
  const device = await devices.idOf(deviceCookieOf(request, account), account)
  return { address: addressOf(request), device }
}

/** Throws `AuthRefusal` if the URL contains a credential. */
export async function bodyOf(request: FastifyRequest, reply: FastifyReply) {
  const credential = credentialIn(request.url)
  if (credential === null) return readParameters(request, reply)
  const why = 'must be in the body: URLs are logged'
  throw new AuthRefusal(...about(credential, why), { httpStatus: 400 })
}

const CREDENTIALS: ReadonlySet<string> = new Set(['username', 'password', 'new_password', 'totp'])

/**
 * First credential in the URL, which would expose it in logs and browser histories; null without
 * one.
 */
export function credentialIn(url: string): string | null {
  const names = [...queryParameters(url).keys()].map((name) => name.toLowerCase().trim())
  return names.find((name) => CREDENTIALS.has(name.replace(/\[.*$/s, ''))) ?? null
}
