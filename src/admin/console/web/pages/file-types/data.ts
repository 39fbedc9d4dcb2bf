/** The file types of the installation, and the check of a message. */
import type { DetailsOf } from '../../api/call-types.ts'
import { call, get } from '../../api/client.ts'
import { base64Of, bytesOfHex } from './hexadecimal.ts'

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
  const { type, form, message } = typed
  const bytes = form === 'hex' ? bytesOfHex(message).bytes : null
  const sent = bytes === null ? { message } : { message_base64: base64Of(bytes) }
  const body = { file_type: type, ...sent, rate }
  return (await call('api/filetype/check', body, { signal })) as Report
}
