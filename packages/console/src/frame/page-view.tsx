/** The current page, loaded on demand. */
import type { ComponentType } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { t } from '../words/words.ts'
import { isBehindDialog } from './keys.ts'
import { entries, location, type PageProps, type PageRoute } from './routes.ts'
import { scrollToEntry } from './scroll.ts'

interface Loaded {
  readonly route: PageRoute
  readonly Page: ComponentType<PageProps> | null
}

export function PageView() {
  const { route, params } = location.value
  const [loaded, setLoaded] = useState<Loaded | null>(null)
  useEffect(() => {
    if (route === null) return
    let isCurrent = true
    route.load().then(
      ({ default: Page }) => isCurrent && setLoaded({ route, Page }),
      // After an upgrade the chunks of an open page no longer exist.
      () => isCurrent && setLoaded({ route, Page: null }),
    )
    return () => {
      isCurrent = false
    }
  }, [route])
  const title = route === null ? '' : t(route.title)
  useEffect(() => {
    document.title = t('frame.page', { page: title })
  }, [title])
  const isShown = route === null || loaded?.route === route
  const visibleEntry = useRef(entries.value)
  useEffect(() => {
    if (!isShown || visibleEntry.current === entries.value) return
    visibleEntry.current = entries.value
    focusHeading()
  }, [isShown, entries.value])
  if (route === null) return <h1 tabIndex={-1}>{t('frame.notFound')}</h1>
  if (!isShown || loaded === null) return <h1 tabIndex={-1}>{title}</h1>
  if (loaded.Page === null) return <h1 tabIndex={-1}>{t('frame.reload')}</h1>
  return <loaded.Page params={params} />
}

/** After navigation the keyboard continues at the begin of the new page. */
function focusHeading(): void {
  scrollToEntry()
  if (isBehindDialog()) return
  // A page may come after its reader has begun to type.
  if (document.activeElement?.matches('input, select, textarea')) return
  const heading = document.querySelector<HTMLElement>('main h1') ?? document.querySelector('main')
  heading?.focus({ preventScroll: true })
}
