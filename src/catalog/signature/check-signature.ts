/** Whose signature a request has: within its time, and once. */
import { hash, timingSafeEqual } from 'node:crypto'
import type { ExpiringKeys } from '../../store/expiring.ts'
import {
  type SentParameters,
  signatureOf,
  signatureParameter,
  signedText,
  TIME_NAME,
} from './signed-text.ts'

/** Who signs with a key; the key is a text, of which the bytes are those of UTF-8. */
export interface Signer {
  readonly name: string
  readonly key: string
  readonly roles: readonly string[]
}

export interface SignatureConditions {
  /** Those whose keys may be used now. */
  readonly signers: readonly Signer[]
  readonly nowMs: number
  /** How far the time of a request may be from ours, both ways. */
  readonly windowMs: number
  /** Bytes that may be hashed: those of the text, once for each signer. */
  readonly workBytesMax: number
}

/** Why a signature is refused: a text for its sender, without a secret. */
export interface SignatureRefusal {
  readonly refused: string
}

/** Clocks of nodes differ: a signature is remembered for so much longer than it can be accepted. */
const CLOCKS_MS = 60_000

const HEX_DIGITS = /^[0-9a-f]{128}$/
const SECONDS = /^\d{1,12}$/
const SECOND_MS = 1000

/**
 * Who has signed a request that `signatureNameOf` finds to be signed. A good signature is used up
 * in `used`, which all nodes share; rejects with `StoreDownError` where that is away.
 */
export async function checkSignature(
  sent: SentParameters,
  terms: SignatureConditions,
  used: Pick<ExpiringKeys, 'setOnce'>,
): Promise<Signer | SignatureRefusal> {
  const { windowMs } = terms
  const name = signatureParameter(sent) ?? ''
  const signature = sent.get(name)
  if (typeof signature !== 'string' || !HEX_DIGITS.test(signature)) {
    return { refused: `${name} must be HMAC-SHA512 in 128 hexadecimal digits of lower case` }
  }
  const refused = timeProblem(sent, terms)
  if (refused !== null) return { refused }
  const signer = signerOf(sent, signature, terms)
  if (signer === null) return { refused: `${name} is of no key that is known` }
  if ('refused' in signer) return signer
  // Accepted from a window before its time on until one after it.
  const keepMs = 2 * windowMs + CLOCKS_MS
  const isFirst = await used.setOnce(`signature:${hash('sha256', signature)}`, '1', keepMs)
  return isFirst ? signer : { refused: `${name} was used before: ${RESEND_HINT}` }
}

const RESEND_HINT = `send another ${TIME_NAME}, or any further parameter`

function timeProblem(
  sent: SentParameters,
  { nowMs, windowMs }: SignatureConditions,
): string | null {
  const sentTime = sent.get(TIME_NAME)
  if (sentTime === undefined)
    return `${TIME_NAME} is missing: the time of the request, unix seconds`
  // A number where the body is JSON.
  const time = typeof sentTime === 'number' ? String(sentTime) : sentTime
  if (typeof time !== 'string' || !SECONDS.test(time)) {
    return `${TIME_NAME} must be unix seconds: digits alone`
  }
  if (Math.abs(nowMs - Number(time) * SECOND_MS) <= windowMs) return null
  return `${TIME_NAME} is more than ${windowMs / SECOND_MS} seconds from the time of this node`
}

/** All keys are tried whichever fits, so that the time tells nothing of them. */
function signerOf(
  sent: SentParameters,
  signature: string,
  { signers, workBytesMax }: SignatureConditions,
): Signer | SignatureRefusal | null {
  const text = signedText(sent)
  if (text.length * signers.length > workBytesMax) {
    return { refused: 'the request is too large to be signed: a token takes any size' }
  }
  const given = Buffer.from(signature)
  let found: Signer | null = null
  for (const signer of signers) {
    if (timingSafeEqual(given, Buffer.from(signatureOf(text, signer.key)))) found ??= signer
  }
  return found
}
