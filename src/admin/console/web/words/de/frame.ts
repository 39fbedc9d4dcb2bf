import type { FRAME as EN } from '../en/frame.ts'

export const FRAME: Readonly<Record<keyof typeof EN, string>> = {
  'frame.skip': 'Zum Inhalt springen',
  'frame.pages': 'Seiten',
  'frame.page': '{page} · Tollgate',
  'frame.reload': 'Die Konsole wurde aktualisiert. Bitte diese Seite neu laden.',
  'frame.notFound': 'Unter dieser Adresse gibt es keine Seite.',
  'page.overview': 'Überblick',
}
