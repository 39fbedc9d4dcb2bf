/** The frame of every page. */
import './shell.css'
import { LiveRegion } from '../parts/live-region.tsx'
import { OfflineBanner } from '../parts/state.tsx'
import { t } from '../words/words.ts'
import { Login } from './login.tsx'
import { PageView } from './page-view.tsx'
import { link, location, MENU } from './routes.ts'
import { Search } from './search.tsx'
import { Tools } from './tools.tsx'

export function Shell() {
  return (
    <>
      <button type="button" class="skip" onClick={focusContent}>
        {t('frame.skip')}
      </button>
      <header class="top">
        <a class="brand" href={link('overview')}>
          Tollgate
        </a>
        <Menu />
        <Search />
        <Tools />
      </header>
      <OfflineBanner />
      <main id="content" tabIndex={-1}>
        <PageView />
      </main>
      <LiveRegion />
      <Login />
    </>
  )
}

function Menu() {
  const current = location.value.route?.menu
  return (
    <nav aria-label={t('frame.pages')}>
      <ul class="menu">
        {MENU.map(({ page, title }) => (
          <li key={page}>
            <a href={link(page)} aria-current={page === current ? 'page' : undefined}>
              {t(title)}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

/** No link: the hash is the address of the page. */
function focusContent(): void {
  document.getElementById('content')?.focus()
}
