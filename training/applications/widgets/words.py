"""Words and the random source of the widget windows."""

import random

WORDS = {
    "en": "Open Save Folder Print Search Window Picture Account Server Volume Colour Message Sender Subject Letter Page "
    "Network Music Player Balance Speed Quality Delay Backup Archive Report Invoice Street Country Number Amount Chart "
    "Timer Battery Screen Keyboard Mouse Printer Language Update Import Export Filter Preview Balance Bookmark History",
    "de": "Öffnen Speichern Ordner Drucken Suchen Fenster Bild Konto Lautstärke Farbe Nachricht Absender Betreff Seite "
    "Netzwerk Musik Geschwindigkeit Verzögerung Sicherung Bericht Rechnung Straße Anzahl Sprache Vorschau Lesezeichen",
    "fr": "Ouvrir Enregistrer Dossier Imprimer Recherche Fenêtre Image Compte Volume Couleur Message Expéditeur Objet Page "
    "Réseau Musique Vitesse Qualité Délai Sauvegarde Rapport Facture Rue Pays Nombre Langue Aperçu Historique",
    "ru": "Открыть Сохранить Папка Печать Поиск Окно Рисунок Счёт Громкость Цвет Письмо Отправитель Тема Страница Сеть "
    "Музыка Скорость Качество Задержка Архив Отчёт Улица Страна Число Язык Просмотр Журнал",
    "zh": "打开 保存 文件夹 打印 搜索 窗口 图片 账户 音量 颜色 消息 发件人 主题 页面 "
    "网络 音乐 速度 质量 延迟 备份 报告 发票 街道 国家 数量 语言 预览 历史",
}
LANGUAGES = ("en", "en", "en", "en", "de", "fr", "ru", "zh")
SHOWS_WORDS, SHOWS_A_PICTOGRAM = "shows words", "shows a pictogram"
"""AT-SPI description of a button, used by `tree.py`."""
EXTENSIONS = ("txt", "png", "odt", "mp3", "zip", "csv", "py", "pdf")


class Chance(random.Random):
    """Random source: everything in a window follows from its seed."""

    def __init__(self, seed: str) -> None:
        super().__init__(seed)
        self.vocabulary = WORDS[self.choice(LANGUAGES)].split()

    def maybe(self, share: float) -> bool:
        return self.random() < share

    def words(self, min_count: int = 1, max_count: int = 2) -> str:
        return " ".join(self.choices(self.vocabulary, k=self.randint(min_count, max_count)))

    def file(self) -> str:
        return f"{self.choice(self.vocabulary).lower()}-{self.randint(1, 99)}.{self.choice(EXTENSIONS)}"

    def value(self) -> str:
        return self.choice((self.words(1, 3), self.file(), str(self.randint(0, 9999)), f"{self.randint(0, 99)} %"))

    def key(self) -> str:
        """Label of a key in a grid of buttons."""
        return self.choice((str(self.randint(0, 9)), "+", "−", "sin", "π", self.words(1, 1)))

    def lines(self, count: int) -> str:
        return "\n".join(self.words(2, 12) if self.maybe(0.8) else "" for _ in range(count))
