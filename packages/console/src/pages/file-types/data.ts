/** The file types of the installation, and the check of a message. */
import type { DetailsOf } from '../../api/call-types.ts'
import { answerOf, call, get } from '../../api/client.ts'
import { changeSetting } from '../../api/settings.ts'
import { base64Of, bytesOfHex, hexOfBase64 } from './hexadecimal.ts'

export type FileType = DetailsOf<'api/filetypes'>[number]
type Checked = DetailsOf<'api/filetype/check'>
export type Report = Extract<Checked, { readonly steps: unknown }>

/** How the message is typed. */
export const FORMS = ['text', 'hex'] as const
export type MessageForm = (typeof FORMS)[number]

export interface Typed {
  readonly type: string
  readonly form: MessageForm
  readonly message: string
}

export function readFileTypes(signal: AbortSignal): Promise<readonly FileType[]> {
  return get('api/filetypes', {}, { signal })
}

/** `rate`: whether the caller may price it. Throws `Refusal`. */
export async function checkMessage(
  typed: Typed,
  rate: boolean,
  signal: AbortSignal,
): Promise<Report> {
  const body = { file_type: typed.type, ...sentMessage(typed), rate }
  return (await call('api/filetype/check', body, { signal })) as Report
}

function sentMessage({ form, message }: Typed) {
  const bytes = form === 'hex' ? bytesOfHex(message).bytes : null
  return bytes === null ? { message } : { message_base64: base64Of(bytes) }
}

export type SamplesReport = Extract<Checked, { readonly samples: unknown }>
export type SampleResult = SamplesReport['samples'][number]

/** Checks all samples of a file type. Throws `Refusal`. */
export async function checkSamples(type: string, signal: AbortSignal): Promise<SamplesReport> {
  const body = { file_type: type, samples: true }
  return (await call('api/filetype/check', body, { signal })) as SamplesReport
}

interface Sample {
  readonly name: string
  readonly message?: string
  readonly message_base64?: string
  readonly expect?: unknown
}

/** The stored samples, and the revision of the settings. Throws `Refusal`. */
async function readSamples(type: string) {
  const address = { category: 'file_types', path: type }
  const answer = await answerOf('api/settings', { action: 'get', ...address })
  const { details, rev } = answer as {
    readonly details: { readonly samples?: readonly Sample[] }
    readonly rev: number
  }
  return { samples: details.samples ?? [], rev }
}

/** Refused if somebody else changes the settings at the same time. Throws `Refusal`. */
async function changeSamples(
  type: string,
  make: (samples: readonly Sample[]) => readonly Sample[],
): Promise<void> {
  const { samples, rev } = await readSamples(type)
  const address = { category: 'file_types', path: `${type}.samples` }
  await changeSetting({ action: 'set', ...address, data: make(samples), rev })
}

/** Saves a message with what the check says of it, in place of the sample of its name. */
export function saveSample(name: string, typed: Typed, expect: unknown): Promise<void> {
  const sample = { name, ...sentMessage(typed), expect }
  return changeSamples(typed.type, (samples) => {
    const at = samples.findIndex((each) => each.name === name)
    return at < 0 ? [...samples, sample] : samples.toSpliced(at, 1, sample)
  })
}

export function removeSample(type: string, name: string): Promise<void> {
  return changeSamples(type, (samples) => samples.filter((each) => each.name !== name))
}

/** The message of a sample, as it is typed. Throws `Refusal`. */
export async function readSample(type: string, name: string): Promise<Typed> {
  const { samples } = await readSamples(type)
  const { message, message_base64: base64 } = samples.find((each) => each.name === name) ?? {}
  if (base64 === undefined) return { type, form: 'text', message: message ?? '' }
  return { type, form: 'hex', message: hexOfBase64(base64) }
}
