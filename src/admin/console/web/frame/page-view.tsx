/** The current page, loaded on demand. */
import type { ComponentType } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { t } from '../words/words.ts'
import { location, type PageProps, type PageRoute } from './routes.ts'

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
  const address = `${route?.pattern} ${Object.values(params).join('/')}`
  const before = useRef(address)
  useEffect(() => {
    if (before.current === address || (route !== null && loaded?.route !== route)) return
    before.current = address
    focusHeading()
  }, [address, loaded])
  if (route === null) return <h1 tabIndex={-1}>{t('frame.notFound')}</h1>
  if (loaded === null || loaded.route !== route) return <h1 tabIndex={-1}>{title}</h1>
  if (loaded.Page === null) return <p class="state">{t('frame.reload')}</p>
  return <loaded.Page params={params} />
}

/** After navigation the keyboard continues at the begin of the new page. */
function focusHeading(): void {
  if (document.querySelector('dialog[open]') !== null) return
  const heading = document.querySelector<HTMLElement>('main h1') ?? document.querySelector('main')
  heading?.focus()
  window.scrollTo(0, 0)
}
