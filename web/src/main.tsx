import './styles/base.css'
import './shared/ui/ui.css'
import './shell/shell.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './shell/App'
import { applyTheme, followSystem } from './shell/theme'

applyTheme()
followSystem()
const root = document.getElementById('console')
if (root)
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  )
