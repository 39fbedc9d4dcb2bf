/** Texts in the language of the reader. */
import { signal } from '@preact/signals'
import { FIRST, type WordKey } from './en.ts'

export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const
export type Language = keyof typeof LANGUAGES

type SomeWords = Readonly<Record<string, string>>

export const language = signal<Language>('en')
/** For `Intl`: the variant of the language that the browser prefers, such as `en-GB`. */
export function locale(): string {
  return localeOf(language.value, globalThis.navigator?.languages ?? [])
}

const TAG = /^[a-z]{2}(?:-[a-z\d]{2,8})*$/i

/** The first well-formed tag that is of the language; otherwise the language itself. */
export function localeOf(requested: string, preferred: readonly string[]): string {
  return preferred.find((each) => each.split('-')[0] === requested && TAG.test(each)) ?? requested
}

const english: Record<string, string> = { ...FIRST }
const words = signal<SomeWords>(english)

/** English texts of a page or a part, before it is shown. Other languages are loaded whole. */
export function addWords(more: SomeWords): void {
  Object.assign(english, more)
}

const LOADERS: Readonly<Record<Language, () => Promise<SomeWords>>> = {
  en: async () => english,
  de: async () => (await import('./de.ts')).DE,
}

export async function setLanguage(requested: Language): Promise<void> {
  const loaded = await LOADERS[requested]()
  words.value = loaded
  language.value = requested
  document.documentElement.lang = requested
}

/** The text of a key, with `{name}` replaced by the value of that name. */
export function t(key: WordKey, values: Readonly<Record<string, string | number>> = {}): string {
  const text = words.value[key] ?? key
  return text.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''))
}

/** Whether there is a text: keys of states and alarms come from the API. */
export function isKey(key: string): key is WordKey {
  return Object.hasOwn(english, key)
}
