/** All texts in English; the keys of other languages are these. One file per page in `en/`. */
import { CUSTOMER } from './en/customer.ts'
import { FILE_TYPES } from './en/file-types.ts'
import { FRAME } from './en/frame.ts'
import { OVERVIEW } from './en/overview.ts'
import { SESSIONS } from './en/sessions.ts'
import { WHY } from './en/why.ts'

export const EN = {
  ...FRAME,
  ...OVERVIEW,
  ...CUSTOMER,
  ...SESSIONS,
  ...FILE_TYPES,
  ...WHY,
} as const

export type WordKey = keyof typeof EN
export type Words = Readonly<Record<WordKey, string>>
