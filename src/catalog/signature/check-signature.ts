/** Verifies the signature of a request: signer, time and single use. */
import { hash, timingSafeEqual } from 'node:crypto'
import type { ExpiringKeys } from '../../store/expiring.ts'
import {
  type OrderedParameters,
  signatureOf,
  signatureParameter,
  signedText,
  TIME_NAME,
} from './signed-text.ts'

/** A client that may sign; the bytes of the key are its UTF-8 encoding. */
export interface Signer {
  readonly name: string
  readonly key: string
  readonly roles: readonly string[]
}

export interface SignatureConditions {
  /** Signers that are valid now. */
  readonly signers: readonly Signer[]
  readonly nowMs: number
  /** Maximum difference between the time of the request and of this node, in either direction. */
  readonly windowMs: number
  /** Maximum number of bytes to hash: the signed text, once per signer. */
  readonly workBytesMax: number
}

/** Why a signature is refused, as a message to the sender without secrets. */
export interface SignatureRefusal {
  readonly refused: string
}

/**
 * Margin for clock differences between nodes, added to the time for which signatures are
 * remembered.
 */
const CLOCKS_MS = 60_000

const HEX_DIGITS = /^[0-9a-f]{128}$/
const SECONDS = /^\d{1,12}$/
const SECOND_MS = 1000

/**
 * The signer of a request for which `signatureParameter` is not null. An accepted signature is
 * stored in `used`, which all nodes share, so that it cannot be replayed. Rejects with
 * `StoreDownError` if that store is unavailable.
 */
export async function checkSignature(
  parameters: OrderedParameters,
  terms: SignatureConditions,
  used: Pick<ExpiringKeys, 'setOnce'>,
): Promise<Signer | SignatureRefusal> {
  const { windowMs } = terms
  const name = signatureParameter(parameters) ?? ''
  const signature = parameters.get(name)
  if (typeof signature !== 'string' || !HEX_DIGITS.test(signature)) {
    return { refused: `${name} must be an HMAC-SHA512 in 128 hexadecimal digits, in lower case` }
  }
  const refused = timeProblem(parameters, terms)
  if (refused !== null) return { refused }
  const signer = signerOf(parameters, signature, terms)
  if (signer === null) return { refused: `${name} does not match any known key` }
  if ('refused' in signer) return signer
  // A signature is accepted from one window before its time until one window after it.
  const keepMs = 2 * windowMs + CLOCKS_MS
  const isFirst = await used.setOnce(`signature:${hash('sha256', signature)}`, '1', keepMs)
  return isFirst ? signer : { refused: `${name} was used before: ${RESEND_HINT}` }
}

const RESEND_HINT = `change ${TIME_NAME}, or add a parameter`

function timeProblem(
  parameters: OrderedParameters,
  { nowMs, windowMs }: SignatureConditions,
): string | null {
  const timeValue = parameters.get(TIME_NAME)
  if (timeValue === undefined)
    return `${TIME_NAME} is missing: the time of the request, unix seconds`
  // JSON bodies may have a number here.
  const time = typeof timeValue === 'number' ? String(timeValue) : timeValue
  if (typeof time !== 'string' || !SECONDS.test(time)) {
    return `${TIME_NAME} must be unix seconds: digits only`
  }
  if (Math.abs(nowMs - Number(time) * SECOND_MS) <= windowMs) return null
  return `${TIME_NAME} is more than ${windowMs / SECOND_MS} seconds from the time of this node`
}

/** All keys are tried even after a match, so that the timing reveals nothing about them. */
function signerOf(
  parameters: OrderedParameters,
  signature: string,
  { signers, workBytesMax }: SignatureConditions,
): Signer | SignatureRefusal | null {
  if (signers.length === 0) return null
  const text = signedText(parameters)
  if (text.length * signers.length > workBytesMax) {
    return { refused: 'the request is too large to be signed: use a token in the header' }
  }
  const received = Buffer.from(signature)
  let found: Signer | null = null
  for (const signer of signers) {
    if (timingSafeEqual(received, Buffer.from(signatureOf(text, signer.key)))) found ??= signer
  }
  return found
}
