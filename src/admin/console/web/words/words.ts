/** Texts in the language of the reader. */
import { signal } from '@preact/signals'
import { EN, type WordKey, type Words } from './en.ts'

export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const
export type Language = keyof typeof LANGUAGES

export const language = signal<Language>('en')
const words = signal<Words>(EN)

const LOADERS: Readonly<Record<Language, () => Promise<Words>>> = {
  en: async () => EN,
  de: async () => (await import('./de.ts')).DE,
}

export async function setLanguage(wanted: Language): Promise<void> {
  const loaded = await LOADERS[wanted]()
  words.value = loaded
  language.value = wanted
  document.documentElement.lang = wanted
}

/** The text of a key, with `{name}` replaced by the value of that name. */
export function t(key: WordKey, values: Readonly<Record<string, string | number>> = {}): string {
  return words.value[key].replaceAll(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''))
}

/** Whether there is a text: keys of states and alarms come from the API. */
export function isKey(key: string): key is WordKey {
  return Object.hasOwn(EN, key)
}
